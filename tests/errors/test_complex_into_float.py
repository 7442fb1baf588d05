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


@kernel
def filled(x):
    w = np.full_like(x, 1j)
    return w[0]


@kernel
def filled_with(x, c):
    w = np.full(3, c, dtype=x.dtype)
    return w[0]


HINT = "  hint: give its real part, '.real', or let the array hold complex numbers: 'dtype=complex'"


def test_filled_with_what_is_complex():
    expected = f"""\
the value 1j is complex, and the array holds float64
  line 2
    w = np.full_like(x, 1j)
    ^^^^^^^^^^^^^^^^^^^^^^^
{HINT}"""
    assert refusal(FormatError, filled, VECTOR) == expected
    expected = f"""\
the value that fills w is complex, and the array holds float64
  line 2
    w = np.full(3, c, dtype=x.dtype)
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
{HINT}"""
    assert refusal(FormatError, filled_with, VECTOR, 2j) == expected
    assert filled_with(VECTOR.astype(complex), 2j) == 2j
    assert filled_with(VECTOR, 2) == 2
