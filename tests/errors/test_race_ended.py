import numpy as np
from error_support import refusal

from finch_core import RaceError, _, kernel, parallel
from finch_levels import Scalar


@kernel
def until(s, x):
    for i in parallel(_):
        if x[i] > 2:
            break
        s[()] += x[i]


def test_race_ended():
    expected = """\
a turn of the parallel loop over i ends the loop, and later turns may have run already
  line 4
    break
    ^^^^^
  hint: use 'continue', or run the loop in order, without 'parallel'"""
    assert refusal(RaceError, until, Scalar(0.0), np.arange(4.0)) == expected
