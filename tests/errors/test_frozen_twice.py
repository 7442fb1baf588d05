import numpy as np
from error_support import VECTOR, refusal

from finch_core import LifecycleError, _, freeze, kernel


@kernel
def frozen(y, x):
    freeze(x)
    for i in _:
        y[i] += x[i]


def test_frozen_twice():
    expected = """\
x is frozen already
  line 2
    freeze(x)
    ^^^^^^^^^
  hint: freeze and thaw are inserted where they are needed; remove this one"""
    assert refusal(LifecycleError, frozen, np.ones(4), VECTOR) == expected
