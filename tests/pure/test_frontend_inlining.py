"""Python functions of scalars are inlined: the text is of the expression that they compute."""

import numpy as np

from finch_core.frontend import parse

scale = 3.0


def text(function):
    """The value of the last update, as text."""
    return parse(function).as_text().rstrip("\n").rpartition(" = ")[2]


def square(x):
    return x * x


def clip(x, low=0.0, high=1):
    """Early returns."""
    if x < low:
        return low
    elif x > high:
        return high
    return x


def bump(x):
    y = x
    if x > 0:
        y += 1
        z = y
    else:
        z = 2
    return y * z


def scaled(x):
    return scale * square(x)


def closure(factor):
    def times(x):
        return factor * x

    return times


double = closure(2)


def test_an_expression():
    def kernel(y, A):
        y[0] = square(A[0] + 1)

    assert text(kernel) == "(A[0] + 1) * (A[0] + 1)"


def test_branches_become_conditional_expressions():
    def kernel(y, A):
        y[0] = clip(A[0], high=5)

    assert text(kernel) == "0.0 if A[0] < 0.0 else 5 if A[0] > 5 else A[0]"


def test_variables_are_chosen_by_the_branch():
    def kernel(y, A):
        y[0] = bump(A[0])

    assert text(kernel) == "(A[0] + 1 if A[0] > 0 else A[0]) * (A[0] + 1 if A[0] > 0 else 2)"


def test_functions_call_functions():
    def kernel(y, A):
        y[0] = scaled(A[0])

    assert text(kernel) == "scale * (A[0] * A[0])"
    assert parse(kernel).free == ("scale",)


def test_closures_hold_constants():
    def kernel(y, A):
        y[0] = double(A[0])

    assert text(kernel) == "2 * A[0]"


def test_arguments_may_be_anything():
    def kernel(y, A):
        for i in _:
            y[i] = square(i) + np.sqrt(square(2))

    assert text(kernel) == "i * i + np.sqrt(2 * 2)"
