"""Sums of several turns side by side in C: to the bits of the same sums one by one."""

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_levels import Dense, Element
from finch_wrappers import swizzle


def product(y, A, x):
    y[...] = 0
    for i, q in _:
        y[i] += A[i, q] * x[q]
    return y


def weighed(y, A, x, by):
    """What all turns share is declared before they are jammed."""
    for i, q in _:
        w = by[q] * x[q]
        y[i] += A[i, q] * w
    return y


DTYPES = [np.float64, np.float32, np.int64, np.int16, np.uint8, np.complex128]


def operands(dtype, rows, terms):
    draw = np.random.default_rng(rows * 100 + terms)
    A, x = (draw.integers(0, 9, shape).astype(dtype) for shape in ((terms, rows), terms))
    if np.dtype(dtype).kind in "fc":
        A, x = (A * 0.37).astype(dtype), (x * 1.3).astype(dtype)
    fill = Element(A.dtype.type(0))
    return swizzle(Tensor(Dense(Dense(fill)), A), (1, 0)), x, np.zeros(rows, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_same_bits(dtype):
    plain = kernel(product, disabled="loop_interchange", strict=True)
    run = kernel(product, strict=True)
    for rows in (0, 1, 2, 3, 4, 6, 9, 15, 16, 17, 31, 33, 1024, 1041, 2080):
        for terms in (0, 1, 3, 32, 33, 65):
            A, x, y = operands(dtype, rows, terms)
            np.testing.assert_array_equal(run(y.copy(), A, x), plain(y.copy(), A, x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_tiles_are_for_real_numbers(dtype):
    A, x, y = operands(dtype, 3, 3)
    text = kernel(product).lower(y, A, x).as_text("source")
    assert ("_tile[16]" in text) == (np.dtype(dtype).kind != "c")
    assert ("_tile_4[2]" in text) == (np.dtype(dtype).kind != "c")


def test_what_turns_share():
    A, x, y = operands(np.float64, 100, 40)
    by = np.arange(40.0)
    y += 3
    text = kernel(weighed).lower(y, A, x, by).as_text("source")
    assert "_tile[16]" in text
    found = kernel(weighed)(y.copy(), A, x, by)
    expected = kernel(weighed, backend="interpreter")(y.copy(), A, x, by)
    np.testing.assert_array_equal(found, expected)
