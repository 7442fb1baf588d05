import math

import numpy as np
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


@kernel
def three(s):
    for i in range(3.0):
        s[()] += i


@kernel
def half(s, x):
    for i in range(1, len(x) / 2):
        s[()] += x[i]


@kernel
def stepped(s):
    for i in range(0, 3, 0.5):
        s[()] += i


def test_range_to_what_is_always_a_float():
    expected = """\
a range is of integers, and '3.0' is a value of float64
  line 2
    for i in range(3.0):
                   ^^^
  hint: write '3'"""
    assert refusal(FormatError, three, Scalar(0)) == expected
    expected = """\
a range is of integers, and 'len(x) / 2' is a value of float64
  line 2
    for i in range(1, len(x) / 2):
                      ^^^^^^^^^^
  hint: write 'len(x) // 2', or cast it, 'int(len(x) / 2)'"""
    assert refusal(FormatError, half, Scalar(0.0), np.arange(4.0)) == expected
    assert refusal(FormatError, stepped, Scalar(0)).endswith("hint: cast it, 'int(0.5)'")
