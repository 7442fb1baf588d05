from error_support import VECTOR, dense, refusal

from finch_core import DimensionMismatch, kernel


@kernel
def shifted(y, x):
    for i in range(0, 4):
        y[i] += x[i + 1]


def test_offset_ends_late():
    expected = """\
the range ends at 4, and index i of x[i + 1] at 3
  line 3
    y[i] += x[i + 1]
            ^^^^^^^^
  hint: let the range begin and end there, or access it where a condition on the index holds; A[~i] takes an index that may be out of bounds, and is missing there"""
    assert refusal(DimensionMismatch, shifted, dense(VECTOR), VECTOR) == expected
