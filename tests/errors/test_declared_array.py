import math

import numpy as np
from error_support import dense, refusal

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


def test_declared_tensor():
    expected = """\
y is declared to -inf, but its fill value is 0.0
  line 2
    y[...] = -math.inf
    ^^^^^^^^^^^^^^^^^^
  hint: write y[...] = 0.0, or make the tensor with that fill value"""
    assert refusal(FormatError, most, dense(np.zeros(3)), np.eye(3)) == expected
    for call in (most, set_first):  # an array takes any value
        assert call(np.zeros(3), -np.eye(3)).tolist() == [0.0, 0.0, 0.0]


@kernel
def halves(y):
    y[...] = 0.5


def test_an_array_takes_what_its_dtype_holds():
    expected = "y holds int64, and cannot take a value of float64\n  line 2\n    y[...] = 0.5\n"
    assert refusal(FormatError, halves, np.zeros(3, np.int64)).startswith(expected)


def test_a_bad_argument_is_shown_where_it_is_a_parameter():
    """Not where it is returned."""
    expected = refusal(FormatError, most, "text", np.eye(3))
    assert "def most(y, A):\n             ^" in expected
