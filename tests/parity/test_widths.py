"""Indices, ``let`` variables and numbers follow the width of their neighbours, as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from wrapper_support import on

from finch_core import Tensor, _, kernel
from finch_core.testing import backend_names
from finch_levels import Dense, Element, RunList, SparseList


def product(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i] * i
    return y


def sum_of_let(y, x):
    y[...] = 0
    for i in _:
        k = 60 * (i + 1)
        y[i] = x[i] + k
    return y


def root(y, x):
    y[...] = 0
    for i in _:
        half = 0.1 * i
        y[i] = x[i] * half
    return y


def updated(y, x):
    y[...] = 1
    for i in _:
        y[i] += x[i]
    for i in _:
        y[i] *= i + 1
    return y


def chosen(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i] if x[i] < i else 50 * i
    return y


def bits(y, x):
    y[...] = 0
    for i in _:
        y[i] = (x[i] ^ (i << 5)) // 3
    return y


FLOATS = (product, root, chosen)
INTEGERS = (product, sum_of_let, chosen, bits)


def widths_agree(program: Callable[..., Any], x: np.ndarray[Any, Any], wide: Any) -> None:
    fill = x.dtype.type(0)
    for format in (Dense(Element(fill)), SparseList(Element(fill)), RunList(Element(fill))):
        output = Dense(Element(wide))
        with np.errstate(all="ignore"):
            expected = on("c", program).reference(Tensor(output), Tensor(format, x))
        for backend in ("interpreter", "c"):
            found = np.asarray(on(backend, program)(Tensor(output), Tensor(format, x)))
            np.testing.assert_array_equal(found, expected, err_msg=f"{backend} {x.dtype}")


@pytest.mark.parametrize("program", FLOATS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_float_keeps_its_width_beside_an_index(program: Callable[..., Any], dtype: Any) -> None:
    """The output is wide, so that a product in the wrong width would be seen."""
    widths_agree(program, np.array([0.1, 0.7, 0.0, 1e-3, 0.3], dtype), 0.0)


@pytest.mark.parametrize("program", INTEGERS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
def test_an_integer_wraps_beside_an_index(program: Callable[..., Any], dtype: Any) -> None:
    widths_agree(program, np.array([100, 3, 0, 120, 7], dtype), 0)


def test_an_update_is_made_in_the_width_of_its_target() -> None:
    x = np.array([0.1, 0.2, 0.3], np.float32)
    for backend in ("interpreter", "c"):
        found = on(backend, updated)(Tensor(Dense(Element(np.float32(1)))), x)
        expected = (np.float32(1) + x) * np.arange(1, 4, dtype=np.float32)
        np.testing.assert_array_equal(np.asarray(found), expected)


def power(y, x, n):
    y[...] = 0
    for i in _:
        y[i] = x[i] ** n
    return y


@pytest.mark.parametrize("n", [-3, -2, -1, 0, 1, 3])
def test_an_integer_to_a_negative_power_is_truncated(n: int) -> None:
    x = np.array([-2, -1, 0, 1, 2])
    expected = [0 if abs(v) > 1 or (v == 0 and n) else v ** (n % 2) for v in x.tolist()]
    for backend in ("interpreter", "c"):
        found = on(backend, power)(Tensor(Dense(Element(0))), x, n)
        np.testing.assert_array_equal(np.asarray(found), x**n if n >= 0 else expected)
    reference = on("c", power).reference(Tensor(Dense(Element(0))), x, n)
    np.testing.assert_array_equal(reference, np.asarray(found))


@pytest.mark.parametrize("backend", ["interpreter", "c"])
def test_bits_of_an_index_and_a_wide_number_are_those_of_the_number(backend):
    """int64 and uint64 have no common dtype: the index takes the number's."""

    def bits(y, c):
        for i in range(0, 4):
            t = i ^ c
            y[i] = t & 3

    y = np.zeros(4, np.uint64)
    on(backend, bits)(y, np.uint64(2))
    assert y.tolist() == [2, 3, 0, 1]


def rounded(y, x):
    for i in _:
        y[i] = round(x[i])


def rounded_as_numpy(y, x):
    for i in _:
        y[i] = np.round(x[i])


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("loop", [rounded, rounded_as_numpy])
def test_rounding_leaves_integers_as_they_are(backend, loop):
    """Those of more than 53 bits, too, which no float64 holds."""
    run = kernel(loop, backend=backend)
    for x in (
        np.array([2**53 + 1, 2**63 - 1, -(2**63)]), np.array([2**53 + 1, 7], np.uint64),
        np.array([-128, 127], np.int8), np.array([True, False]),
    ):  # fmt: skip
        y = np.zeros(len(x), np.uint64 if x.dtype == np.uint64 else np.int64)
        run(y, x)
        assert y.tolist() == x.tolist()
    y = np.zeros(4)
    run(y, np.array([0.5, 1.5, -2.5, 1e15 + 0.5]))
    assert y.tolist() == [0, 2, -2, 1e15]
