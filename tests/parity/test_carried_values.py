"""The element stored last is carried in a variable only where it is the one before: C, the
interpreter, the reference and Python agree."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, kernel, swap
from finch_core.testing import backend_names
from finch_levels import Dense, Element, SparseByteMap, SparseHash, SparseList


def each(x, y, n):
    for i in range(n):
        t = y[i]
        for j in range(n):
            t += y[j] * x[j]
        x[i] = t % 7


def every_second(x, y, n):
    for i in range(0, n, 2):
        t = 0.0
        for j in range(n):
            t += y[j] * x[j]
        x[i] = t % 7


def backwards(x, y, n):
    for i in reversed(range(n)):
        t = 0.0
        for j in range(n):
            t += y[j] * x[j]
        x[i] = t % 7


def backwards_over_more(x, y, n):
    for i in reversed(range(n)):
        t = y[i]
        for j in range(n + 2):
            t += y[j] * x[j]
        x[i] = t % 7


def backwards_in_two_sums(x, y, n):
    for i in reversed(range(n)):
        t = 1.0
        for j in range(i):
            t -= x[j] * 2
        for j in range(i + 1, n):
            t -= y[j] * x[j]
        for j in range(i, n):
            t += x[j] + 1
        x[i] = t % 7


def backwards_with_terms_of_the_sum(x, y, n):
    for i in reversed(range(n)):
        t = y[i]
        for j in range(i + 1, n):
            t -= y[j] * x[j] * t
        x[i] = t % 7


def backwards_from_negative_zeros(x, y, n):
    for i in reversed(range(n)):
        t = -0.0
        for j in range(i + 1, n):
            t += y[j] * x[j] * 0
        x[i] = t
        y[i] = -0.0


def swapped_in_the_loop(x, y, n):
    for i in range(n):
        t = 1.0
        for j in range(n):
            t += y[j] * x[j]
        x[i] = t % 7
        swap(x, y)


def swapped_around_the_loop(x, y, n):
    for _k in range(3):
        for i in range(n):
            t = 1.0
            for j in range(i):
                t += y[j] * x[j]
            x[i] = t % 7
        swap(x, y)


def exchanged(a: Any, b: Any) -> None:
    a[:], b[:] = b.copy(), a.copy()


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("made", [None, Dense(Element(0.0))], ids=str)
@pytest.mark.parametrize(
    "function",
    [
        each,
        every_second,
        backwards,
        backwards_over_more,
        backwards_in_two_sums,
        backwards_with_terms_of_the_sum,
        backwards_from_negative_zeros,
        swapped_in_the_loop,
        swapped_around_the_loop,
    ],
    ids=lambda f: f.__name__,
)
def test_the_value_before_is_the_one_stored_last(function: Any, made: Any, backend: str) -> None:
    for n in (0, 1, 2, 7):
        rng = np.random.default_rng(n)
        size = n + 2 if function is backwards_over_more else n
        x, y = rng.integers(-3, 4, size) * 1.0, rng.integers(-3, 4, size) * 1.0
        plain = x.copy(), y.copy()
        FunctionType(function.__code__, {**globals(), "swap": exchanged})(*plain, n)
        args = (x, y) if made is None else (Tensor(made, x), Tensor(made, y))
        run = kernel(backend=backend)(function)
        found = run.reference(*args, n)
        run(*args, n)
        for name, value, array in zip("xy", plain, args, strict=True):
            np.testing.assert_array_equal(found.get(name, value), value, f"{name}, reference")
            np.testing.assert_array_equal(np.asarray(array), value, name)
            np.testing.assert_array_equal(np.signbit(array), np.signbit(value), name)


def sums_kept(s, y, x, n):
    s[...] = 0
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            s[i] -= y[i, j] * x[j]
        x[i] = 1.0


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("level", [SparseHash, SparseByteMap])
def test_sums_that_have_no_terms_are_not_stored(level: Any, backend: str) -> None:
    terms = np.zeros((4, 4))
    terms[1, 2:] = 3.0
    s, x = Tensor(level(Element(0.0)), (4,)), np.zeros(4)
    kernel(backend=backend)(sums_kept)(s, Tensor(Dense(SparseList(Element(0.0))), terms), x, 4)
    np.testing.assert_array_equal(s.to_numpy(), [0, -6, 0, 0])
    assert s.nstored == 1


def test_terms_of_the_element_stored_last_are_summed_apart() -> None:
    x, y = np.ones(5), np.ones(5)
    for function in (backwards, backwards_over_more, backwards_in_two_sums):
        assert "x_term_val" in kernel(function).lower(x, y, 3).as_text("assembly")
        strict = kernel(strict=True)(function).lower(x, y, 3).as_text("assembly")
        assert "x_term_val" not in strict
        assert "x_last_val" not in strict
