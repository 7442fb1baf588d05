from error_support import dense, refusal

from finch_core import DimensionMismatch, kernel


@kernel
def ones(y, n):
    y[...] = 0
    for i in range(n, 2):
        y[i] = 1


def test_range_declared_negative():
    expected = """\
the range starts at -3, and dimension 0 of y at 0
  line 4
    y[i] = 1
    ^^^^
  hint: let the range begin and end there, or access it where a condition on the index holds; A[~i] takes an index that may be out of bounds, and is missing there"""
    assert refusal(DimensionMismatch, ones, dense([7.0]), -3) == expected
