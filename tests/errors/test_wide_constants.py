"""Whole numbers as written that 64 bits do not hold, where they are not written as one literal."""

import numpy as np
import pytest

from finch_core import kernel
from finch_core.errors import FormatError

FLOAT = "write a float, or cast the other operand, np.float64(x)"


def size(y):
    w = np.zeros(2**64 + 2)
    w[1] = 1
    y[0] = w[1]


def end(y):
    for i in range(2**64 + 3):
        y[i] = 1


def step(y):
    for i in range(0, 4, 2**64 - 1):
        y[i] = 1


def written_index(y):
    y[2**64 + 3] = 7


def read_index(y):
    y[0] = y[2**64 + 1]


def added(y):
    y[0] += 2**64 + 2


def least(y):
    y[0] = max(y[0], 2**64 + 2)


def variable(y):
    a = 5
    a *= 2**64
    y[0] = a


def counter(y):
    k = 0
    while k < 4:
        y[k] += 1
        k += 2**64


def name(y):
    k = 2**64
    y[0] = k


def stored(y):
    y[0] = 10**400


def power(y):
    y[0] = 2**100000


def factor(y):
    y[0] = y[1] * 10**400


def shifted_name(y):
    k = 1 << 64
    y[0] = k


def shifted_operand(y):
    y[0] += 1 << 64


def shifted_store(y):
    y[0] = 1 << 63


def long_shift(y):
    y[0] = 1 << 2**20


def long_power(y):
    y[0] = 2 ** (2**70)


def negative_shift(y):
    y[0] = 1 << (2 - 3)


def negative_right_shift(y):
    y[0] = 4 + (8 >> -2)


def bits(y):
    y[0] = y[1] & ~(2**64)


def cast(y):
    y[0] = np.int64(2**64)


def narrow_cast(y):
    y[0] = np.uint8(300)


def chosen(y):
    y[0] = y[1] and 1 << 64


@pytest.mark.parametrize(
    ("function", "message", "hint"),
    [
        (size, f"a dimension of w is {2**64 + 2}, which does not fit in int64", ""),
        (end, f"the range of i ends at {2**64 + 3}, which does not fit in int64", ""),
        (step, f"the range of i has the step of {2**64 - 1}, which does not fit in int64", ""),
        (written_index, f"index 0 of y is {2**64 + 3}, which does not fit in int64", ""),
        (read_index, f"index 0 of y is {2**64 + 1}, which does not fit in int64", ""),
        (added, f"{2**64 + 2} does not fit in int64, in which '+' computes here", FLOAT),
        (least, f"{2**64 + 2} does not fit in int64, in which 'max' computes here", FLOAT),
        (variable, f"{2**64} does not fit in int64, in which '*' computes here", FLOAT),
        (counter, f"{2**64} does not fit in int64, in which '+' computes here", FLOAT),
        (
            name,
            f"k is {2**64}, which does not fit in int64",
            "write a float, or np.uint64(n) up to 2**64 - 1",
        ),
        (power, "2**100000 has more than 8192 bits", "write a float"),
        (
            factor,
            "a number of 401 digits does not fit in int64, in which '*' computes here",
            FLOAT,
        ),
        (
            shifted_name,
            f"k is {2**64}, which does not fit in int64",
            "write a float, or np.uint64(n) up to 2**64 - 1",
        ),
        (shifted_operand, f"{2**64} does not fit in int64, in which '+' computes here", FLOAT),
        (
            shifted_store,
            f"y holds int64, and cannot take {2**63}, which does not fit",
            "cast the value, as in np.int64(...), or give y a wider dtype",
        ),
        (long_shift, f"1 << {2**20} has more than 8192 bits", "write a float"),
        (long_power, f"2**{2**70} has more than 8192 bits", "write a float"),
        (negative_shift, "1 << -1 is a shift by a negative number of bits", "write 1 >> 1"),
        (negative_right_shift, "8 >> -2 is a shift by a negative number of bits", "write 8 << 2"),
        (bits, f"-{2**64 + 1} does not fit in int64, in which '&' computes here", FLOAT),
        (cast, f"{2**64} does not fit in int64", "write a float"),
        (narrow_cast, "300 does not fit in uint8", "cast to a wider dtype"),
        (chosen, f"{2**64} does not fit in int64, in which 'ifelse' computes here", FLOAT),
    ],
)
def test_a_constant_that_would_wrap_is_told(function, message, hint):
    y = np.arange(4)
    with pytest.raises(FormatError) as error:
        kernel(function)(y)
    assert error.value.message == message
    assert error.value.hint == hint
    assert error.value.span is not None
    assert np.array_equal(y, np.arange(4))


def test_a_number_beyond_floats_is_told():
    with pytest.raises(FormatError) as error:
        kernel(stored)(np.zeros(1))
    message = "y holds float64, and cannot take a number of 401 digits, which does not fit"
    assert error.value.message == message
    with pytest.raises(FormatError) as error:
        kernel(factor)(np.zeros(2))
    message = "a number of 401 digits does not fit in float64, in which '*' computes here"
    assert error.value.message == message


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint64])
@pytest.mark.parametrize("backend", ["c", "interpreter"])
def test_exact_constants_are_those_of_python(dtype, backend):
    @kernel(backend=backend)
    def run(y):
        y[0] = 10**10 * 10**10 // 10**10
        y[1] = 2**64 // 2**62 + (2**64 + 5) % 2**64 - -(2**70) // 2**69
        y[2] = min(2**70, 5) + abs(-(2**64)) // 2**60
        y[3] = 2**63 - 1 - 2**63 + 4

    y = np.zeros(4, dtype)
    run(y)
    assert y.tolist() == [10**10, 11, 21, 3]
    assert run.reference(np.zeros(4, dtype))["y"].tolist() == y.tolist()
