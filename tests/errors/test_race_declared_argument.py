import numpy as np
from error_support import refusal

from finch_core import RaceError, _, kernel, parallel
from finch_levels import Scalar


@kernel
def worked(w, s, x):
    for i in parallel(_):
        w[...] = 0
        w[0] += x[i]
        s[()] += w[0]


def test_race_declared_argument():
    expected = """\
every turn of the parallel loop over i declares w, which is not made in the kernel
  line 3
    w[...] = 0
    ^^^^^^^^^^
  hint: make a workspace in the kernel, w = Tensor(...): each turn has its own"""
    assert refusal(RaceError, worked, np.zeros(1), Scalar(0.0), np.arange(4.0)) == expected
