"""Values that no array stores, and operators that are not defined on what it stores."""

from __future__ import annotations

import math

import numpy as np
import pytest

from finch_core import FormatError, kernel, missing


def stored_missing(y):
    y[0] = missing


def shifted_float(y):
    y[0] <<= 1


def third_of_two(y):
    t = (1, 2)
    y[0] = t[2]


@pytest.mark.parametrize(
    ("function", "message", "hint"),
    [
        (stored_missing, "missing is no value that y can store",
         "write a number, or nothing, under a condition"),
        (shifted_float, "'<<' is not defined on float64 and int64",
         "cast the operands, as in int(x) or np.float64(x)"),
        (third_of_two, "a tuple of 2 has no element 2", "tensors and tuples have elements"),
    ],
)  # fmt: skip
def test_what_is_not_stored(function, message, hint):
    y = np.zeros(2)
    with pytest.raises(FormatError) as caught:
        kernel(function)(y)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert not y.any()


def nan(y):
    y[0] = 3 if math.nan else 4
    y[1] = 3 if math.inf else 4
    y[2] = 3 if 0.5j else 4
    y[3] = 3 if 0.0 else 4


@pytest.mark.parametrize("backend", ["c", "interpreter"])
def test_constants_that_are_no_integers_are_conditions(backend):
    y = np.zeros(4)
    kernel(nan, backend=backend)(y)
    assert list(y) == [3, 3, 3, 4]
