import numpy as np
from error_support import refusal

from finch_core import LifecycleError, _, kernel

BUFFER = np.zeros(8)


@kernel
def reversed_into(y, x):
    for i in _:
        y[i] = x[i]


def test_shared_strided():
    """``x`` is passed as a copy, which would not have what is written to ``y``."""
    expected = """\
y is written, and shares memory with x
  line 1
    def reversed_into(y, x):
                      ^
  hint: pass a copy of it, x.copy()"""
    assert refusal(LifecycleError, reversed_into, BUFFER[:5], BUFFER[:2:-1]) == expected
    reversed_into(BUFFER[:4], BUFFER[:3:-1])
