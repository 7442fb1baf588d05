import numpy as np
from error_support import VECTOR, refusal

from finch_core import LifecycleError, _, freeze, kernel, thaw


@kernel
def halfway(y, x):
    for i in _:
        y[i] += x[i]
    freeze(y)
    thaw(y)
    return y


def test_returned_thawed():
    expected = """\
y is returned while it is still being updated
  line 5
    thaw(y)
    ^^^^^^^
  hint: write freeze(y) after its last update, or remove this thaw"""
    assert refusal(LifecycleError, halfway, np.ones(4), VECTOR) == expected
