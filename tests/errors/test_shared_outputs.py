import numpy as np
from error_support import VECTOR, refusal

from finch_core import LifecycleError, _, kernel

BUFFER = np.zeros(8)


@kernel
def split(y, z, x):
    for i in _:
        y[i] = x[i]
        z[i] = -x[i]


def test_shared_outputs():
    expected = """\
y is written, and shares memory with z
  line 1
    def split(y, z, x):
              ^
  hint: pass a copy of it, z.copy()"""
    assert refusal(LifecycleError, split, BUFFER[:4], BUFFER[3:7], VECTOR) == expected
