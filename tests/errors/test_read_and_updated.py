import numpy as np
from error_support import VECTOR, refusal

from finch_core import LifecycleError, Tensor, _, kernel
from finch_levels import Element, SparseList


@kernel
def prefix(y, x):
    for i in _:
        y[i] = x[i] + y[i]


def test_read_and_updated():
    expected = """\
y is read and updated within one loop, and a SparseList cannot be read while it is updated
  line 3
    y[i] = x[i] + y[i]
                  ^^^^
  hint: update only what it stores, under 'if stored(y[i]):'; or read a copy, or write to another tensor; 'Dense', 'SparseByteMap' and 'SparseHash' can"""
    y = Tensor(SparseList(Element(0.0)), np.ones(4))
    assert refusal(LifecycleError, prefix, y, VECTOR) == expected
