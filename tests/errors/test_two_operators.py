import numpy as np
from error_support import VECTOR, refusal

from finch_core import LifecycleError, _, kernel


@kernel
def both(y, x):
    for i in _:
        y[i] += x[i]
        if x[i] > 0:
            y[i] *= 2


def test_two_operators():
    expected = """\
y is updated by '+=' and by '*=' within one statement
  line 5
    y[i] *= 2
    ^^^^
  hint: split the loop in two, or update another tensor"""
    assert refusal(LifecycleError, both, np.ones(4), VECTOR) == expected
