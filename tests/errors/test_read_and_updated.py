import numpy as np
from error_support import VECTOR, refusal

from finch_core import LifecycleError, _, kernel


@kernel
def prefix(y, x):
    for i in _:
        y[i] += x[i] * y[i]


def test_read_and_updated():
    expected = """\
y is read and updated within one statement
  line 3
    y[i] += x[i] * y[i]
                   ^^^^
  hint: write to another tensor, or split the loop in two"""
    assert refusal(LifecycleError, prefix, np.ones(4), VECTOR) == expected
