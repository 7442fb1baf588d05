import numpy as np
import pytest
from error_support import refusal

import finch_array as fa
from finch_core import DimensionMismatch

CUBE, FIRST, SECOND = (fa.asarray(np.zeros(shape)) for shape in ((3, 4, 5), (4, 2), (5, 2)))


def test_einsum_sizes():
    expected = """\
einsum: the index k has size 5 in 'ijk', but 4 in 'kr'
  hint: the shapes are (3, 4, 5), (4, 2), (5, 2)"""
    call = fa.einsum, "ijk,kr,jr->ir", CUBE, FIRST, SECOND
    assert refusal(DimensionMismatch, *call) == expected
    assert fa.einsum("ijk,jr,kr->ir", CUBE, FIRST, SECOND).shape == (3, 2)


def test_sizes_of_a_statement():
    with pytest.raises(DimensionMismatch) as error:
        fa.einsum("y[i] += A[i, j] * x[j]", A=np.zeros((3, 4)), x=np.zeros(3))
    assert error.value.message == "einsum: the index j has size 4 in A[i, j], but 3 in x[j]"


def test_sizes_of_dots():
    with pytest.raises(DimensionMismatch) as error:
        fa.einsum("...j,...j->...", FIRST, SECOND)
    told = "einsum: a dimension of '...' has size 4 in '...j', but 5 in '...j'"
    assert error.value.message == told


def test_a_size_of_1_is_of_any():
    assert fa.einsum("i,i,i->i", np.ones(3), np.ones(1), np.ones(3)).shape == (3,)


def test_einsum_has_no_options_of_numpy():
    with pytest.raises(TypeError) as error:
        fa.einsum("ijk,kr->ijr", CUBE, FIRST, optimize=True)
    assert str(error.value) == (
        "einsum has no optimize=: fa.lazy(A) orders the products of several arrays"
    )
    with pytest.raises(TypeError) as error:
        fa.einsum("ijk,kr->ijr", CUBE, FIRST, dtype=float)
    assert str(error.value) == "einsum has no dtype=: fa.astype casts the arrays, or the result"
