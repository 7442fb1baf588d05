import numpy as np
from error_support import VECTOR, refusal

from finch_core import FormatError, _, kernel


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_written_strided():
    expected = """\
y is written, and the array is not contiguous
  line 1
    def add(y, x):
            ^
  hint: pass a copy, b = a.copy(), and assign it back, a[...] = b; or a Tensor"""
    assert refusal(FormatError, add, np.zeros(8)[::2], VECTOR) == expected


@kernel
def add_rows(C, A):
    for i, j in _:
        C[i, j] += A[i, j]


def test_written_in_the_order_of_fortran():
    expected = """\
C is written, and the array is in Fortran's order, its last dimension outermost
  line 1
    def add_rows(C, A):
                 ^
  hint: pass C.T, and write its indices in reverse; or a copy, b = a.copy(), and assign it back, a[...] = b; or a Tensor"""
    C = np.zeros((2, 3), order="F")
    assert refusal(FormatError, add_rows, C, np.ones((2, 3))) == expected
