import numpy as np
from error_support import VECTOR, dense, refusal

from finch_core import FormatError, _, kernel


@kernel
def scale(y, x, c):
    for i in _:
        y[i] = x[i] * c


def test_complex_into_float():
    expected = """\
y holds float64, and cannot take a value of complex128
  line 3
    y[i] = x[i] * c
    ^^^^^^^^^^^^^^^
  hint: take a part of it, as in z.real, or give y a complex dtype"""
    assert refusal(FormatError, scale, dense(np.ones(4)), VECTOR, 2j) == expected
