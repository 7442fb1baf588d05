"""Assignments to tuples of targets: C, the interpreter, the reference and Python agree."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from finch_core import kernel
from finch_core.testing import backend_names


def fibonacci(y, n):
    a, b = 0, 1
    for i in range(n):
        y[i] = a
        a, b = b, a + b


def exchanged(y, n):
    for i in range(n // 2):
        y[i], y[n - 1 - i] = y[n - 1 - i], y[i]


def quotients(y, n):
    for i in range(n):
        a, b = divmod(7 * i, 4)
        c, d = np.divmod(-i, 3)
        y[i] = a * 1000 + b * 100 + c * 10 + d + math.hypot(3 * i, 4 * i, 12 * i) + math.hypot(-i)


def rotated(y, n):
    a, b, c = 1, 2, 3
    for i in range(n):
        (a, b), c = (b, c), a
        y[i] = a * 100 + b * 10 + c


def in_turn(y, n):
    """The first target is set before the index of the second is read."""
    i = 0
    for k in range(n):
        i, y[i] = k, i + 5


def sum_and_difference(a, b):
    return a + b, a - b


def from_a_tuple(y, n):
    for i in range(n):
        s, d = sum_and_difference(y[i], i)
        s, (d, e) = d, (s, s)
        y[i] = s * d + e


def reversed_digits(a, b):
    a, b = b, a
    return a * 10 + b


def in_a_helper(y, n):
    for i in range(n):
        y[i] = reversed_digits(y[i], i)


def numbers(y, n):
    n, m = n // 2, n
    for i in range(n):
        y[i], y[m - 1] = m, y[i]


PROGRAMS = [fibonacci, exchanged, quotients, rotated, in_turn, from_a_tuple, in_a_helper, numbers]


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_targets_take_their_values_at_once(function: Any, backend: str) -> None:
    for n in (0, 1, 2, 7):
        plain, y = np.arange(n + 0.0), np.arange(n + 0.0)
        function(plain, n)
        run = kernel(backend=backend)(function)
        np.testing.assert_array_equal(run.reference(y, n)["y"], plain)
        run(y, n)
        np.testing.assert_array_equal(y, plain)


def test_an_exchange_takes_one_name() -> None:
    text = kernel(fibonacci).lower(np.zeros(3), 3).as_text("program")
    assert text.splitlines()[-3:] == [
        "        b_new = a + b",
        "        a = b",
        "        b = b_new",
    ]
