import numpy as np
from error_support import refusal

from finch_core import RaceError, _, kernel, parallel
from finch_levels import Scalar


@kernel
def largest(s, x):
    for i in parallel(_):
        s[()] = max(s[()], x[i])


def test_race_overflow():
    """300 is stored as 44: the largest depends on when it is met."""
    expected = """\
s holds int8, and reduces int64: where a value does not fit, the result depends on the order in which the parallel loop over i runs
  line 3
    s[()] = max(s[()], x[i])
    ^^^^^
  hint: cast the value to the dtype of s, or give s that of the value"""
    assert refusal(RaceError, largest, Scalar(np.int8(0)), np.array([300, 1])) == expected
