import numpy as np
from error_support import VECTOR, refusal

from finch_core import DimensionMismatch, _, kernel


@kernel
def copy(y, x):
    for i in _:
        y[i] = x[i]


def test_dimension_mismatch_output():
    expected = """\
dimension 0 of y is 3, but dimension 0 of x is 4
  line 3
    y[i] = x[i]
           ^^^^
  hint: dimensions with the same index must be equal; range(0, n) indexes a part of one"""
    assert refusal(DimensionMismatch, copy, np.ones(3), VECTOR) == expected
