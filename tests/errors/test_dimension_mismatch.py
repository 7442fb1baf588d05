import numpy as np
import pytest
import scipy.sparse as sp
from error_support import MATRIX, dense, refusal, sparse

from finch_core import DimensionMismatch, _, kernel


@kernel
def spmv(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]


@pytest.mark.parametrize("matrix", [sparse(MATRIX), sp.csc_array(MATRIX)], ids=["csr", "csc"])
def test_dimension_mismatch(matrix):
    expected = """\
dimension 1 of A is 4, but dimension 0 of x is 5
  line 4
    y[i] += A[i, j] * x[j]
                      ^^^^
  hint: dimensions with the same index must be equal; range(0, n) indexes a part of one"""
    assert refusal(DimensionMismatch, spmv, dense([7.0]), matrix, np.arange(5.0)) == expected
