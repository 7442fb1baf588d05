from error_support import refusal

from finch_core import DimensionMismatch, _, kernel
from finch_levels import Scalar


@kernel
def count(s):
    for i in _:
        s[()] += i


def test_extent_unknown():
    expected = """\
nothing fixes the extent of i
  line 2
    for i in _:
        ^
  hint: write it out, as in: for i in range(0, n)"""
    assert refusal(DimensionMismatch, count, Scalar(1)) == expected
