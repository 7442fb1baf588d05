import numpy as np
from error_support import refusal

from finch_core import RaceError, kernel, parallel


@kernel
def running(y, x):
    for i in parallel(range(1, 4)):
        y[i] = y[i - 1] + x[i]


def test_race_read():
    expected = """\
one turn of the parallel loop over i may read what another writes to y
  line 3
    y[i] = y[i - 1] + x[i]
    ^^^^
  line 3
    y[i] = y[i - 1] + x[i]
           ^^^^^^^^
  hint: write y at the index i, or only reduce into it, by one operator such as +=, or use a workspace of the kernel"""
    assert refusal(RaceError, running, np.zeros(4), np.arange(4.0)) == expected
