import numpy as np
from error_support import VECTOR, refusal

from finch_core import FormatError, _, kernel


@kernel
def wrong(y, x):
    for i in _:
        y[i] = x[i] ^ 1


def test_operator_undefined():
    expected = """\
'^' is not defined on float64 and int64
  line 3
    y[i] = x[i] ^ 1
    ^^^^^^^^^^^^^^^
  hint: cast the operands, as in int(x) or np.float64(x)"""
    assert refusal(FormatError, wrong, np.ones(4), VECTOR) == expected
