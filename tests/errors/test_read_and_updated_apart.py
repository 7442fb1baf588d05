import numpy as np
from error_support import VECTOR, refusal

from finch_core import LifecycleError, kernel


@kernel
def shifted(y, x):
    for i in range(1, 4):
        s = x[i]
        if y[i - 1] > 0:
            y[i] += s


def test_read_and_updated_apart():
    expected = """\
y is read and updated within one loop
  line 4
    if y[i - 1] > 0:
       ^^^^^^^^
  hint: write to another tensor, or mark its updates in the loop: thaw(y) before its updates, freeze(y) after them (both from finch_core)"""
    assert refusal(LifecycleError, shifted, np.ones(4), VECTOR) == expected
