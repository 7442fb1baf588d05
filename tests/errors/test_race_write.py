import numpy as np
from error_support import refusal

from finch_core import RaceError, _, kernel, parallel


@kernel
def gathered(y, x, p):
    for i in parallel(_):
        y[p[i]] = x[i]


def test_race_write():
    expected = """\
one turn of the parallel loop over i may write what another writes to y
  line 3
    y[p[i]] = x[i]
    ^^^^^^^
  hint: write y at the index i, or only reduce into it, by one operator such as +=, or use a workspace of the kernel"""
    assert refusal(RaceError, gathered, np.zeros(4), np.arange(4.0), np.arange(4)) == expected
