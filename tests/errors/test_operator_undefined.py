import numpy as np
import pytest
from error_support import VECTOR, refusal

from finch_core import FormatError, Tensor, _, kernel, maxby
from finch_levels import Element


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


def test_the_innermost_operator_is_named():
    @kernel
    def combined(y, a, b):
        y[()] = maxby(y[()], (abs(a ^ b), 1))

    with pytest.raises(FormatError, match=r"'\^' is not defined on uint64 and int64"):
        combined(Tensor(Element((0, -1))), np.uint64(1), np.int64(1))


def test_of_a_variable_that_becomes_a_float():
    @kernel
    def shifted(y, x, p, n):
        k = len(p)
        if 0 <= (k >> 1) < len(x):
            k = p[k]
        y[k % n] = 1.0

    with pytest.raises(FormatError, match="'>>' is not defined on float64 and int64"):
        shifted(np.zeros(3), np.ones(3), np.array([1, 2, 0], np.uint64), 3)
