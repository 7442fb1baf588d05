"""Messages of calls that NumPy's users make: a number for a shape, dtypes that no tensor has."""

from __future__ import annotations

import numpy as np
import pytest

import finch_array as fa
from finch_core import FormatError, Tensor
from finch_levels import Dense, Element


def test_fill_takes_a_shape():
    tensor = Tensor(Dense(Element(0.0)), np.ones(3))
    with pytest.raises(FormatError) as caught:
        tensor.fill(3)
    assert str(caught.value).startswith("fill takes a shape, and 3 is a number")
    assert "A[...] = 3 sets all elements" in str(caught.value)
    np.testing.assert_array_equal(tensor.to_numpy(), np.ones(3))


@pytest.mark.parametrize("dtype", [object, str, "V3"])
def test_dtypes_of_casts_are_those_of_tensors(dtype):
    with pytest.raises(FormatError) as caught:
        fa.eye(3).astype(dtype)
    assert str(caught.value).startswith(f"tensors of {np.dtype(dtype)} are not supported")


def test_norms_that_there_are():
    with pytest.raises(ValueError, match="it is 'fro', 1, -1") as caught:
        np.linalg.norm(fa.random((4, 4), 0.5), ord="banana")
    assert str(caught.value).startswith("norm of ord='banana'")
