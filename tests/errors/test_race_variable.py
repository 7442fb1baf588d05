import numpy as np
from error_support import refusal

from finch_core import RaceError, _, kernel, parallel


@kernel
def smoothed(y, x):
    t = 0.0
    for i in parallel(_):
        t = t / 2 + x[i]
        y[i] = t


def test_race_variable():
    expected = """\
one turn of the parallel loop over i may read what another writes to t
  line 4
    t = t / 2 + x[i]
    ^
  line 4
    t = t / 2 + x[i]
        ^
  hint: only reduce into it, by one operator such as +=, or declare it in each turn"""
    assert refusal(RaceError, smoothed, np.zeros(4), np.arange(4.0)) == expected
