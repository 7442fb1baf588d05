"""Which assignments of a name are one variable, where it is declared, and its dtype."""

import math

import numpy as np
import pytest

from finch_core import minby
from finch_core.errors import FormatError
from finch_core.frontend import parse
from finch_core.ir.variables import variable_types


def variables(function):
    return [local.name for local in parse(function).locals]


def again(text):
    """The text of the program that a text describes."""
    names = {"np": np, "minby": minby, "math": math}
    import linecache

    file = f"<text {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return parse(names["program"]).as_text()


def test_assigned_once_is_a_let():
    def program(y, x):
        for i in _:
            t = x[i]
            y[i] = t

    assert variables(program) == []


def test_replaced_is_another_let():
    def program(y, x):
        for i in _:
            t = x[i]
            t = 2 * t
            t = t + 1
            y[i] = t

    assert variables(program) == []
    assert parse(program).as_text() == again(parse(program).as_text())


def test_lets_in_blocks_of_their_own():
    def program(y, z, x):
        t = 1.0
        for i in _:
            t = x[i]
            y[i] = t
        for i in _:
            t = x[i] + 1
            z[i] = t

    assert variables(program) == []


def test_updated_is_a_variable():
    def program(y, x):
        for i in _:
            t = 0.0
            for j in _:
                t += x[j]
            y[i] = t

    text = """\
def program(y, x):
    for i in _:
        t = 0.0
        for j in _:
            t += x[j]
        y[i] = t
"""
    assert variables(program) == ["t"]
    assert parse(program).as_text() == again(parse(program).as_text()) == text


def test_two_variables_of_one_name():
    def program(y, x):
        t = 0
        for i in _:
            t += x[i]
        y[0] = t
        t = 1
        for i in _:
            t *= x[i]
        y[1] = t

    assert variables(program) == ["t", "t_2"]
    assert parse(program).as_text() == again(parse(program).as_text())


def test_both_branches_assign():
    def program(y, x):
        for i in _:
            if x[i] > 0:
                t = x[i]
            elif x[i] < 0:
                t = -x[i]
            else:
                t = 2
            y[i] = t

    assert variables(program) == ["t"]
    assert parse(program).as_text() == again(parse(program).as_text())


def test_carried_from_turn_to_turn():
    def program(y, x):
        t = 0.0
        for i in _:
            u = t
            t = x[i]
            y[i] = t - u

    assert variables(program) == ["t"]


def test_parameter_is_assigned():
    def program(y, n):
        n = n + 1
        y[0] = n
        n += 1
        for i in _:
            y[i] += n

    assert variables(program) == ["n_2"]


def test_reductions_are_recognised():
    def program(y, x, n):
        t = n
        m = (math.inf, -1)
        for i in _:
            t = max(t, x[i])
            m = minby(m, (x[i], i))
        y[0] = t + m[0]

    text = parse(program).as_text()
    assert "t = max(t, x[i])" in text
    assert "m = minby(m, (x[i], i))" in text
    assert text == again(text)


def types(function, **given):
    found = variable_types(parse(function), {n: np.dtype(t) for n, t in given.items()})
    return {name: dtype.name for name, dtype in found.items()}


def test_plain_numbers_take_the_width_of_what_is_added():
    def program(y, x):
        t = 0
        for i in _:
            t += x[i]
        y[0] = t

    assert types(program, x="float32", y="float64") == {"t": "float32"}
    assert types(program, x="int8", y="int64") == {"t": "int8"}
    assert types(program, x="bool", y="int64") == {"t": "int64"}
    assert types(program, x="complex64", y="complex64") == {"t": "complex64"}


def test_integer_then_float():
    def program(y, x):
        t = 1
        for i in _:
            t = t / 2 + 0 * x[i]
        y[0] = t

    assert types(program, x="int8", y="float64") == {"t": "float64"}


def test_an_integer_that_does_not_fit_widens():
    def program(y, x):
        t = 300
        for i in _:
            t = x[i]
        y[0] = t

    assert types(program, x="int8", y="int64") == {"t": "int64"}
    assert types(program, x="int16", y="int64") == {"t": "int16"}


def test_variables_that_depend_on_each_other():
    def program(y, x):
        a = 0
        b = 1
        for i in _:
            c = a + b
            a = b
            b = c + x[i]
        y[0] = b

    assert types(program, x="float32", y="float64") == {"a": "float32", "b": "float32"}
    assert types(program, x="int64", y="float64") == {"a": "int64", "b": "int64"}


def test_a_number_or_a_tuple():
    def program(y, x):
        t = 0
        for i in _:
            t = (x[i], i)
        y[0] = t[0]

    with pytest.raises(FormatError, match="t is assigned both numbers and tuples"):
        types(program, x="float64", y="float64")
