import numpy as np
from error_support import refusal

from finch_core import FormatError, kernel


@kernel
def pairs(y, a, b):
    while (a, b):
        y[0] += 1


def test_while_tuple():
    expected = """\
a condition is a number, and this is a tuple
  line 2
    while (a, b):
          ^^^^^^
  hint: test an element of it, as in t[0] > 0"""
    assert refusal(FormatError, pairs, np.zeros(3), 3, 1) == expected
