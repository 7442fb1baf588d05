import numpy as np
from error_support import VECTOR, refusal

from finch_core import FormatError, _, kernel


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_float_into_int():
    expected = """\
y holds int64, and cannot take a value of float64
  line 3
    y[i] += x[i]
    ^^^^^^^^^^^^
  hint: cast the value, as in np.int64(...), or give y a wider dtype"""
    assert refusal(FormatError, add, np.ones(4, np.int64), VECTOR) == expected
