import numpy as np
from error_support import refusal

from finch_core import DimensionMismatch, kernel


@kernel
def strided(y, n, step):
    for i in range(0, n, step):
        y[i] = 1


def test_range_step_zero():
    expected = """\
the range of i has the step 0
  line 2
    for i in range(0, n, step):
        ^
  hint: give a step that is not 0"""
    assert refusal(DimensionMismatch, strided, np.zeros(3), 3, 0) == expected
