import numpy as np
from error_support import refusal

from finch_core import RaceError, Tensor, _, kernel, parallel
from finch_levels import Dense, Element, Scalar


@kernel
def last(s, x):
    w = Tensor(Dense(Element(0.0)), (1,))
    for i in parallel(_):
        w[...] = 0
        w[0] = x[i]
    s[()] = w[0]


def test_race_private_used():
    expected = """\
w is used outside of the parallel loop over i, each turn of which has its own
  line 4
    w[...] = 0
    ^^^^^^^^^^
  hint: write what is needed later to a tensor at an index of the loop"""
    assert refusal(RaceError, last, Scalar(0.0), np.arange(4.0)) == expected
