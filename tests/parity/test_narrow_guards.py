"""Guards that compare indices with integers of fewer than 64 bits: an index is an int64, whatever
its range and the numbers that it is compared with are."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import DimensionMismatch, Tensor, kernel
from finch_core.errors import OutOfBounds
from finch_levels import Element, SparseList

SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32]
BACKENDS = ["interpreter", None]


def above(x, t):
    for i in range(len(x)):
        if i > t:
            x[i - 1] = 7


def not_up_to(x, t):
    for i in range(len(x)):
        if not (t >= i):
            x[i - 1] = 7


def behind(x, t):
    for i in range(len(x)):
        if i - 1 >= t:
            x[i - 1] = 7


def double(x, t):
    for i in range(len(x)):
        if i > 2 * t:
            x[i - 1] = 7


def below(x, t):
    for i in range(len(x)):
        if i <= t:
            x[i + 1] = 7


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", SIGNED)
@pytest.mark.parametrize("function", [above, not_up_to, behind, double, below])
def test_narrow_numbers_guard_as_wide_ones(function, dtype, backend):
    run = kernel(backend=backend)(function)
    for t in (-128, -3, -1, 0, 3, 10, 11, 12, 100):
        x, y = np.zeros(12), np.zeros(12)
        known = 2 * t if -128 <= 2 * t <= 127 else None
        if function is double and known is None and dtype is np.int8:
            with np.errstate(all="ignore"):
                known = int(dtype(t) * dtype(2))
        inside = {above: t >= 0, not_up_to: t >= 0, behind: t >= 0, below: t < 11}
        inside[double] = (2 * t if known is None else known) >= 0
        if not inside[function]:
            with pytest.raises((DimensionMismatch, OutOfBounds)):
                run(x, dtype(t))
            assert not x.any()
            continue
        run(x, dtype(t))
        with np.errstate(all="ignore"):
            function(y, dtype(t))
        np.testing.assert_array_equal(x, y)


def counts(y, p, t):
    for i in range(len(y)):
        for j in range(p[i], p[i + 1]):
            if j < t:
                y[i] += 1


def shifted(y, x, p, t):
    for i in range(len(y)):
        for j in range(p[i], p[i + 1]):
            if j > t:
                y[i] += x[j - t]


def named(y, p, t):
    for i in range(len(y)):
        first = p[i]
        last = p[i + 1]
        for j in range(first, last):
            if j < t:
                y[i] += 1


def jumps(y, x, p):
    for i in range(len(y)):
        for j in range(p[i], p[i + 1]):
            if j > p[i] and x[j] > x[j - 1]:
                y[i] += 1


POINTERS = [0, 1, 2, 2, 5, 5]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED, np.uint64])
def test_indices_of_narrow_ranges_are_compared_as_int64(dtype, backend):
    p = np.array(POINTERS, dtype)
    for function in (counts, named):
        run = kernel(backend=backend)(function)
        for t in (-(2**33), -1, 3, 10, 2**31, 2**32, 2**32 + 2):
            y, wanted = np.zeros(5), np.zeros(5)
            run(y, p, t)
            for i in range(5):
                wanted[i] = sum(j < t for j in range(POINTERS[i], POINTERS[i + 1]))
            np.testing.assert_array_equal(y, wanted)
    run = kernel(backend=backend)(shifted)
    for t in (-(2**32), -(2**62)):
        with pytest.raises((DimensionMismatch, OutOfBounds)):
            run(np.zeros(5), np.ones(6), p, t)
    y = np.zeros(5)
    run(y, np.arange(6.0), p, 1)
    np.testing.assert_array_equal(y, [0, 0, 0, 1 + 2 + 3, 0])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
def test_conditions_on_ends_of_narrow_ranges_count(dtype, backend):
    x = np.array([1.0, 2, 1, 4, 3, 9])
    run = kernel(backend=backend)(jumps)
    for data in (x, Tensor(SparseList(Element(0.0)), x)):
        y = np.zeros(5)
        run(y, data, np.array([0, 2, 2, 4, 5, 6], dtype))
        np.testing.assert_array_equal(y, [1, 0, 1, 0, 0])


def room(y, x, t):
    if len(x) - t >= 3:
        y[0] = 1
    for i in range(len(x) - t):
        y[1] += i - i + 1


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED, np.uint64, int])
def test_sizes_less_narrow_numbers_wrap_as_numpys(dtype):
    for t in (0, 3, 7):
        y, wanted, x = np.zeros(2), np.zeros(2), np.zeros(6)
        found = 6 - t
        if dtype is not int and np.dtype(dtype).kind == "u" and found < 0:
            found += 1 << 8 * np.dtype(dtype).itemsize
        if found > 1 << 20:
            continue
        kernel(backend="interpreter")(room)(y, x, dtype(t))
        wanted[:] = found >= 3, max(found, 0)
        np.testing.assert_array_equal(y, wanted)
