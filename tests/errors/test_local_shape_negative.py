import numpy as np
from error_support import refusal

from finch_core import DimensionMismatch, Tensor, _, kernel
from finch_levels import Element, SparseByteMap


@kernel
def counted(y, x, n):
    w = Tensor(SparseByteMap(Element(0.0)), (n - 1,))
    for i in _:
        w[i] += x[i]
        y[i] += 1


def test_local_shape_negative():
    expected = """\
dimension 0 of w cannot be -3: it is negative
  line 2
    w = Tensor(SparseByteMap(Element(0.0)), (n - 1,))
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: give a size that is 0 or more"""
    assert refusal(DimensionMismatch, counted, np.ones(2), np.ones(2), -2) == expected
