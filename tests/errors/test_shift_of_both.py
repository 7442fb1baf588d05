import numpy as np
from error_support import refusal

from finch_core import DimensionMismatch, _, kernel


@kernel
def delayed(y, x):
    for i in _:
        y[i + 1] = x[i]


def test_shift_of_both():
    """The loop begins where both do; nothing is read beyond the ends."""
    expected = """\
index i of y[i + 1] starts at -1, but dimension 0 of x at 0
  line 3
    y[i + 1] = x[i]
               ^^^^
  hint: a condition does not change where a loop begins: write the range, as in for i in \
range(0, n)"""
    assert refusal(DimensionMismatch, delayed, np.zeros(5), np.ones(5)) == expected
