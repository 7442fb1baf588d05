import numpy as np
from error_support import dense, refusal

from finch_core import FormatError, _, kernel


@kernel
def inverses(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i] ** -1


def test_negative_power():
    expected = """\
an integer to a negative power is not an integer
  line 4
    y[i] = x[i] ** -1
    ^^^^^^^^^^^^^^^^^
  hint: cast the operands, as in int(x) or np.float64(x)"""
    assert refusal(FormatError, inverses, dense([1, 2]), np.array([1, 2])) == expected
