"""Tuples where a number is wanted: as truth values and in casts, within expressions too."""

import linecache

import numpy as np
import pytest

from finch_core import kernel, maxby, minby
from finch_core.errors import FormatError
from finch_core.frontend.functions import choose
from finch_levels import Scalar

CONDITION = "a condition is a number, and this is a tuple"
TEST = "test an element of it, as in t[0] > 0"
ELEMENT = "take an element of it, as in t[0]"


def program(lines):
    """The function whose loop has these lines."""
    text = ["def program(y, x, m):\n", "    for i in range(2):\n"]
    text += [f"        {line}\n" for line in lines]
    name = f"<tuples {hash(tuple(text))}>"
    linecache.cache[name] = (len("".join(text)), None, text, name)
    scope = {"np": np, "minby": minby, "maxby": maxby, "choose": choose}
    exec(compile("".join(text), name, "exec"), scope)
    return scope["program"]


def refused(lines, m=0.0):
    """The error with which a kernel of these lines is refused, before it changes anything."""
    y, x = np.zeros(1), np.array([1.5, 2.5])
    with pytest.raises(FormatError) as error:
        kernel(program(lines))(y, x, Scalar(m))
    assert y[0] == 0
    assert error.value.span is not None
    return error.value


@pytest.mark.parametrize(
    "lines",
    [
        ["y[0] = 1.0 if (x[i], i) else 2.0"],
        ["y[0] = not (x[i], i)"],
        ["y[0] = ((x[i], i) or (x[i], 2))[0]"],
        ["y[0] = ((x[i], i) and (x[i], 2))[0]"],
        ["y[0] = (1, 2) and 3"],
        ["y[0] = np.where((x[i], i), 1, 2)"],
        ["y[0] = np.logical_and((x[i], i), True)"],
        ["if (x[i], i) and i > 0:", "    y[0] = 1"],
        ["if i > 0 or (x[i], i):", "    y[0] = 1"],
        ["if not (x[i], i):", "    y[0] = 1"],
        ["t = (x[i], i)", "while t and y[0] < 2:", "    y[0] += 1"],
        ["t = (x[i], i)", "while y[0] < 2 and not t:", "    y[0] += 1"],
        ["y[0] = x[1 if (x[i], i) else 0]"],
    ],
)
def test_tuples_are_no_conditions(lines):
    error = refused(lines)
    assert error.message == CONDITION
    assert error.hint == TEST


@pytest.mark.parametrize(
    ("lines", "dtype"),
    [
        (["y[0] = float((x[i], i))"], "float64"),
        (["t = (x[i], i)", "y[0] = bool(t)"], "bool"),
        (["t = (x[i], i)", "y[0] = int(t)"], "int64"),
        (["t = (x[i], i)", "y[0] += 2 * np.float32(t)"], "float32"),
        (["y[0] = complex((x[i], i)).real"], "complex128"),
        (["y[0] = bool((True, False))"], "bool"),
        (["y[0] = x[int((i, i))]"], "int64"),
    ],
)
def test_tuples_are_not_cast(lines, dtype):
    error = refused(lines)
    assert error.message == f"a tuple cannot be cast to {dtype}"
    assert error.hint == ELEMENT


@pytest.mark.parametrize("name", ["minby", "maxby"])
def test_first_elements_are_numbers(name):
    error = refused([f"m[()] = {name}(m[()], ((x[i], i), x[i]))"], ((0.0, 0), 0.0))
    pair = "((float64, int64), float64)"
    assert error.message == f"'{name}' is not defined on {pair} and {pair}"
    assert error.hint == "minby(a, b) and maxby(a, b) compare first elements that are numbers"


def test_tuples_are_not_chosen_by_a_number():
    error = refused(["y[0] = choose(0)((x[i], i), (x[i], 2))[0]"])
    pair = "(float64, int64)"
    assert error.message == f"'choose(0)' is not defined on {pair} and {pair}"


def test_an_index_is_no_tuple():
    error = refused(["y[0] = x[((i, i),)]"])
    assert error.message == "index 0 of x is a value of (int64, int64), not an integer"
    assert error.hint == ELEMENT


def test_a_tuple_is_not_stored_among_numbers():
    error = refused(["y[0] = (x[i], i)"])
    assert error.message == "y holds float64, and cannot take a value of (float64, int64)"
    assert error.hint == "give y the dtype (float64, int64)"
