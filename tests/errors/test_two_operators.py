import numpy as np
from error_support import VECTOR, refusal

from finch_core import LifecycleError, Tensor, _, kernel
from finch_levels import Element, SparseList


@kernel
def both(y, x):
    y[...] = 0
    for i in _:
        y[i] += x[i]
        if x[i] > 0:
            y[i] *= 2


def test_two_operators():
    expected = """\
y is updated by '+=' and by '*=' within one statement
  line 6
    y[i] *= 2
    ^^^^
  hint: split the loop in two, or update another tensor"""
    y = Tensor(SparseList(Element(0.0)), np.ones(4))
    assert refusal(LifecycleError, both, y, VECTOR) == expected
