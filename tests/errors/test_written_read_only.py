import numpy as np
from error_support import VECTOR, refusal

from finch_core import FormatError, _, kernel

READ_ONLY = np.zeros(4)
READ_ONLY.flags.writeable = False


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_written_read_only():
    expected = """\
y is written, and the array is read-only
  line 1
    def add(y, x):
            ^
  hint: pass a copy"""
    assert refusal(FormatError, add, READ_ONLY, VECTOR) == expected
