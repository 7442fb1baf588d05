import numpy as np
from error_support import refusal

from finch_core import DimensionMismatch, _, kernel


@kernel
def delayed(V, A):
    V[...] = 0
    for t, s in _:
        if t > 0:
            V[t, s] += A[t - 1, s]


def test_shift_under_condition():
    expected = """\
dimension 0 of V starts at 0, but index t of A[t - 1, s] at 1
  line 5
    V[t, s] += A[t - 1, s]
               ^^^^^^^^^^^
  hint: a condition does not change where a loop begins: write the range, as in for t in \
range(1, n), or read A[~(t - 1)], which is missing beyond the ends"""
    assert refusal(DimensionMismatch, delayed, np.zeros((20, 4)), np.ones((20, 4))) == expected
