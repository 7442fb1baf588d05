import numpy as np
from error_support import refusal

from finch_core import RaceError, _, kernel, parallel
from finch_levels import Scalar


@kernel(strict=True)
def total(s, x):
    for i in parallel(_):
        s[()] += x[i]


def test_race_strict():
    expected = """\
s is reduced by '+' in the parallel loop over i, and the kernel keeps the order of reductions
  line 3
    s[()] += x[i]
    ^^^^^
  hint: remove 'strict', or 'parallel'"""
    assert refusal(RaceError, total, Scalar(0.0), np.arange(4.0)) == expected
