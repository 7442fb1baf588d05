import numpy as np
import pytest
from error_support import VECTOR, refusal

from finch_core import FormatError, _, kernel


@kernel
def halved(y, x):
    for i in _:
        y[i] = x[i / 2]


@kernel
def by_value(y, x):
    for i in _:
        y[i] = x[y[i]]


@kernel
def by_condition(y, x):
    for i in _:
        y[i] = x[y[i] > 0]


@pytest.mark.parametrize(
    ("call", "code", "what", "hint"),
    [
        (halved, "x[i / 2]", "a value of float64", "write i // 2, or cast it, int(i / 2)"),
        (by_value, "x[y[i]]", "a value of float64", "cast it, int(y[i])"),
        (
            by_condition, "x[y[i] > 0]", "a bool",
            "a condition selects where it is tested, as in if y[i] > 0:, or cast it, int(y[i] > 0)",
        ),
    ],
)  # fmt: skip
def test_index_not_integer(call, code, what, hint):
    expected = f"""\
index 0 of x is {what}, not an integer
  line 3
    y[i] = {code}
           {"^" * len(code)}
  hint: {hint}"""
    assert refusal(FormatError, call, np.zeros(4), VECTOR) == expected


@kernel
def by_variable(x):
    h = len(x)
    while x[0] < h:
        h /= 2
    return x[h / 2]


@kernel
def to_half(x, n):
    s = 0.0
    for i in range(n / 2):
        s += x[i]
    return s


def test_variables_have_no_index_in_hints():
    expected = "hint: write h // 2, or cast it, int(h / 2)"
    assert refusal(FormatError, by_variable, VECTOR).endswith(expected)


def test_a_range_to_a_quotient():
    expected = """\
the range of i ends at a value of float64, not an integer
  line 3
    for i in range(n / 2):
        ^
  hint: write n // 2, or cast it, int(n / 2)"""
    assert refusal(FormatError, to_half, VECTOR, 4) == expected
