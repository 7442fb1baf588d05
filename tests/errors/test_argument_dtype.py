import numpy as np
from error_support import refusal

from finch_core import FormatError, _, kernel


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_argument_dtype():
    expected = """\
x is an array of object: tensors of object are not supported
  line 1
    def add(y, x):
               ^
  hint: bool, (u)int8 to 64, float16/32/64, complex64/128, or a tuple of these"""
    assert refusal(FormatError, add, np.zeros(2), np.array([1, 2], object)) == expected
