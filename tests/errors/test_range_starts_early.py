import numpy as np
from error_support import VECTOR, refusal, sparse

from finch_core import DimensionMismatch, kernel


@kernel
def copy(y, x, n):
    for i in range(n, 2):
        y[i] = x[i]


def test_range_starts_early():
    expected = """\
the range starts at -1, and dimension 0 of y at 0
  line 3
    y[i] = x[i]
    ^^^^
  hint: let the range begin and end there, or access it where a condition on the index holds; A[~i] takes an index that may be out of bounds, and is missing there"""
    assert refusal(DimensionMismatch, copy, np.ones(4), sparse(VECTOR), -1) == expected
