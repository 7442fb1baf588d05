import numpy as np
from error_support import refusal

from finch_core import _, freeze, kernel, thaw
from finch_core.errors import OutOfBounds
from finch_levels import Scalar


@kernel
def forward(V, A):
    V[...] = 0
    for t in _:
        for s in _:
            m = Scalar(0.0)
            if t > 0:
                for r in _:
                    m[()] += V[t - 1, r] * A[r, s]
            v = m[()]
            thaw(V)
            V[t, s] = v
            freeze(V)


def test_range_leaves_shifted():
    expected = """\
range(-1, 19) is not within dimension 0 of V of size 20
  line 8
    m[()] += V[t - 1, r] * A[r, s]
             ^^^^^^^^^^^
  hint: where a condition keeps the index inside, give it a name, k = j - 1: x[k] is checked where it is read; A[~i] takes an index that may be out of bounds, and is missing there"""
    assert refusal(OutOfBounds, forward, np.zeros((20, 4)), np.ones((4, 4))) == expected
