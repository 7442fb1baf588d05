from error_support import VECTOR, dense, refusal

from finch_core import kernel
from finch_core.errors import OutOfBounds


@kernel
def convolved(y, x):
    for i in range(2, 3):
        for j in range(2, 3):
            y[i] += x[i + j]


def test_shifted_out_of_bounds():
    expected = """\
an index is out of bounds for dimension 0 of x of size 4
  line 4
    y[i] += x[i + j]
            ^^^^^^^^
  hint: A[~i] takes an index that may be out of bounds, and is missing there"""
    assert refusal(OutOfBounds, convolved, dense(VECTOR[:3]), VECTOR) == expected
