import numpy as np
from error_support import VECTOR, refusal

from finch_core import LifecycleError, _, kernel


@kernel
def prefix(y, x):
    for i in _:
        y[i] += x[i] * y[i]


def test_read_and_updated():
    expected = """\
y is read and updated within one loop
  line 3
    y[i] += x[i] * y[i]
                   ^^^^
  hint: write to another tensor, or take the value first, in the loop: v = ..., thaw(y), y[i] = v, freeze(y) (both from finch_core)"""
    assert refusal(LifecycleError, prefix, np.ones(4), VECTOR) == expected
