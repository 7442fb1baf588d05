import numpy as np
from error_support import refusal

from finch_core import _, kernel
from finch_core.errors import DimensionMismatch


@kernel
def widths(y, x):
    for i in _:
        y[i] = x[i] / x.shape[1]


def test_no_such_dimension():
    expected = """\
x has 1 dimension, and none of number 1
  line 3
    y[i] = x[i] / x.shape[1]
                  ^^^^^^^^^^
  hint: dimensions are counted from 0"""
    assert refusal(DimensionMismatch, widths, np.zeros(2), np.ones(2)) == expected
