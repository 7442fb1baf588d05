import numpy as np
from error_support import VECTOR, refusal

from finch_core import DimensionMismatch, kernel


@kernel
def copy(y, x, n):
    for i in range(0, n):
        y[i] = x[i]


def test_range_ends_late():
    expected = """\
the range ends at 5, and dimension 0 of x has size 4
  line 3
    y[i] = x[i]
           ^^^^
  hint: let the range begin and end there, or access it where a condition on the index holds; A[~i] takes an index that may be out of bounds, and is missing there"""
    assert refusal(DimensionMismatch, copy, np.ones(9), VECTOR, 5) == expected
