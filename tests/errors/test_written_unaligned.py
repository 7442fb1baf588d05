import numpy as np
from error_support import VECTOR, refusal

from finch_core import FormatError, _, kernel


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_written_unaligned():
    unaligned = np.zeros(33, np.uint8)[1:].view(float)
    expected = """\
y is written, and the array is not aligned in memory
  line 1
    def add(y, x):
            ^
  hint: pass a copy, b = a.copy(), and assign it back, a[...] = b; or a Tensor"""
    assert refusal(FormatError, add, unaligned, VECTOR) == expected
    add(VECTOR.copy(), unaligned)  # it can be read
