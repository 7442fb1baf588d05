import numpy as np
from error_support import refusal

from finch_core import RaceError, _, kernel, parallel
from finch_levels import Scalar


@kernel
def mixed(s, x):
    for i in parallel(_):
        s[()] += x[i]
        s[()] *= x[i]


def test_race_operators():
    expected = """\
one turn of the parallel loop over i may write what another writes to s
  line 3
    s[()] += x[i]
    ^^^^^
  line 4
    s[()] *= x[i]
    ^^^^^
  hint: only reduce into it, by one operator such as +=, or use a workspace of the kernel"""
    assert refusal(RaceError, mixed, Scalar(0.0), np.arange(4.0)) == expected
