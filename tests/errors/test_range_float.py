import math

import pytest
from error_support import refusal

from finch_core import FormatError, kernel
from finch_levels import Scalar


@kernel
def count(s, c):
    s[...] = 0
    for i in range(0, c):
        s[()] += i


@pytest.mark.parametrize("bound", [2.5, 3.0, math.nan, math.inf, 1e300])
def test_range_float(bound):
    expected = """\
the range of i ends at a value of float64, not an integer
  line 3
    for i in range(0, c):
        ^
  hint: give an integer, or cast it, as in range(int(n))"""
    assert refusal(FormatError, count, Scalar(0), bound) == expected
