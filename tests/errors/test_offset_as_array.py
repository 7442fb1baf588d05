import numpy as np
import pytest
from error_support import VECTOR, dense

import finch_array as fa
from finch_core import FormatError, Tensor, kernel
from finch_core.runtime.wrapping import WrapperTensor
from finch_levels import Element, SparseList
from finch_wrappers import offset, permissive, toeplitz


def test_offset_as_array():
    x = offset(dense(VECTOR), 1)
    expected = """\
the result of offset has no dense array: its indices do not begin at 0
  hint: read it in a kernel, into a tensor of its own"""
    with pytest.raises(FormatError) as error:
        x.to_numpy()
    assert str(error.value) == expected


@kernel
def first(x):
    return x[0]


def test_others_as_arrays():
    for wrap, why in (
        (permissive, "indices before 0 and after the last are read, too, as missing"),
        (toeplitz, "two of its indices are added, and have no ranges of their own"),
    ):
        view = wrap(dense(VECTOR))
        with pytest.raises(FormatError, match=f"{view.name} has no dense array: {why}"):
            np.asarray(view)
        with pytest.raises(FormatError, match=f"{view.name} is no array: {why}"):
            fa.sum(view)


def test_one_of_an_author_as_array():
    """Nothing is known of where its indices begin."""

    class Mirrored(WrapperTensor):
        name = "mirrored"

    why = "its indices need not be those from 0 up to a size"
    with pytest.raises(FormatError, match=f"mirrored has no dense array: {why}"):
        Mirrored(dense(VECTOR)).to_numpy()
    with pytest.raises(FormatError, match=f"mirrored cannot be converted: {why}"):
        Tensor(SparseList(Element(0.0)), Mirrored(dense(VECTOR)))
    with pytest.raises(FormatError, match="what the result of mirrored means"):
        first.reference(Mirrored(dense(VECTOR)))


def test_sizes_are_numbers_of_indices():
    matrix = dense([[1.0, 2.0, 0.0], [0.0, 3.0, 0.0]])
    assert offset(matrix, 1, -1).shape == permissive(matrix).shape == (2, 3)
    assert toeplitz(matrix, 0).shape == (2, 2, 3)
    assert toeplitz(toeplitz(matrix, 1), 2).shape == (2, 3, 3, 3)
