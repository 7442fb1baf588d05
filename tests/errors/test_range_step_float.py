import numpy as np
from error_support import refusal

from finch_core import FormatError, kernel


@kernel
def strided(y, n, step):
    for i in range(0, n, step):
        y[i] = 1


def test_range_step_float():
    expected = """\
the range of i has the step of a value of float64, not an integer
  line 2
    for i in range(0, n, step):
        ^
  hint: give an integer, or cast it, as in range(int(n))"""
    assert refusal(FormatError, strided, np.zeros(3), 3, 1.5) == expected
