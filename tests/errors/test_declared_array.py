import math

import numpy as np
from error_support import refusal

from finch_core import FormatError, _, kernel


@kernel
def most(y, A):
    y[...] = -math.inf
    for i, j in _:
        y[i] = max(y[i], A[i, j])
    return y


@kernel
def set_first(y, A):
    for i in _:
        y[i] = -math.inf
    for i, j in _:
        y[i] = max(y[i], A[i, j])
    return y


def test_declared_array():
    expected = """\
y is declared to -inf, but its fill value is 0.0
  line 2
    y[...] = -math.inf
    ^^^^^^^^^^^^^^^^^^
  hint: write y[...] = 0.0, or set an array to another value in a loop, y[i] = -math.inf, or pass a Tensor that has it as its fill"""
    assert refusal(FormatError, most, np.zeros(3), np.eye(3)) == expected
    assert set_first(np.zeros(3), -np.eye(3)).tolist() == [0.0, 0.0, 0.0]


def test_a_bad_argument_is_shown_where_it_is_a_parameter():
    """Not where it is returned."""
    expected = refusal(FormatError, most, "text", np.eye(3))
    assert "def most(y, A):\n             ^" in expected
