import numpy as np
import pytest
from error_support import MATRIX, refusal

from finch_core import LifecycleError, Tensor, _, freeze, kernel, thaw
from finch_levels import Dense, Element, SparseByteMap, SparseHash, SparseList


@kernel
def halve(A):
    for i, k in _:
        if A[i, k] != 0:
            p = A[i, k] / 2
            thaw(A)
            A[i, k] = p
            freeze(A)
    return A


@pytest.mark.parametrize("level", [SparseHash, SparseByteMap, SparseList])
def test_thawed_along(level):
    expected = """\
A is thawed in a loop over its stored elements
  line 4
    p = A[i, k] / 2
        ^^^^^^^
  hint: write to another tensor, or thaw it after the loop"""
    A = Tensor(Dense(level(Element(0.0))), MATRIX)
    assert refusal(LifecycleError, halve, A) == expected


def test_what_stores_every_index_is_thawed_there():
    """The remedy that the refusals of reads and updates in one loop name."""
    A = Tensor(Dense(Dense(Element(0.0))), MATRIX)
    np.testing.assert_array_equal(halve(A).to_numpy(), MATRIX / 2)
