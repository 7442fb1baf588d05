import numpy as np
from error_support import VECTOR, refusal

from finch_core import LifecycleError, Tensor, _, kernel
from finch_levels import Element, SparseList


@kernel
def extremes(y, x):
    y[...] = 0
    for i in _:
        y[i] = min(y[i], x[i])
        y[i] = max(y[i], x[i])


def test_two_operators_named():
    expected = """\
y is updated by 'min' and by 'max' within one statement
  line 5
    y[i] = max(y[i], x[i])
    ^^^^
  hint: split the loop in two, or update another tensor"""
    y = Tensor(SparseList(Element(0.0)), np.ones(4))
    assert refusal(LifecycleError, extremes, y, VECTOR) == expected
