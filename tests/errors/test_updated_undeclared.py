import numpy as np
from error_support import refusal

from finch_core import DimensionMismatch, Tensor, _, kernel
from finch_levels import Dense, Element


@kernel
def spmv(y, A, x):
    for i, j in _:
        y[i] += A[i, j] * x[j]


def test_updated_undeclared():
    expected = """\
dimension 0 of y is 0, but dimension 0 of A is 3
  line 3
    y[i] += A[i, j] * x[j]
            ^^^^^^^
  hint: y is updated without a declaration, and so keeps its size; write y[...] = 0 first"""
    y = Tensor(Dense(Element(0.0)))
    assert refusal(DimensionMismatch, spmv, y, np.eye(3), np.ones(3)) == expected
