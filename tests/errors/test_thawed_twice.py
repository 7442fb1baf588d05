import numpy as np
from error_support import refusal

from finch_core import LifecycleError, _, kernel, thaw


@kernel
def twice(y):
    thaw(y)
    thaw(y)
    for i in _:
        y[i] += 1


def test_thawed_twice():
    expected = """\
y is thawed already
  line 3
    thaw(y)
    ^^^^^^^
  hint: freeze and thaw are inserted where they are needed; remove this one"""
    assert refusal(LifecycleError, twice, np.ones(4)) == expected
