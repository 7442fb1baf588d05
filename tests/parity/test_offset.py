"""Shifted accesses, as programs write them: the suite of wrappers has shifted arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wrapper_support import BACKENDS, QUICK, VECTORS, arrays, check, dense, on

from finch_core import DimensionMismatch, Tensor
from finch_core.errors import OutOfBounds
from finch_core.level import Format
from finch_levels import Scalar

both_vectors = pytest.mark.parametrize("format", VECTORS, ids=str)


def inner_stencil(y, x, n):
    for i in range(1, n - 1):
        y[i] += x[i - 1] + 10 * x[i] + 100 * x[i + 1]
    return y


def shifted_sum(s, x, c):
    s[...] = 0
    for i in _:
        s[()] += x[i + c] * (i + c)
    return s


def differences(y, x, z):
    for i in _:
        y[i] += x[i + 1] - z[i + 1]
    return y


def sizes_by_shift(y, x):
    y[...] = 0
    for i in _:
        y[i + 2] += x[i]
    return y


@both_vectors
def test_a_shifted_access_reads_and_writes_next_to_its_index(format: Format) -> None:
    @QUICK
    @given(arrays(0), st.integers(-3, 3))
    def property_(x: np.ndarray[Any, Any], c: int) -> None:
        n, X = len(x), Tensor(format, x)
        expected = np.zeros(n)
        expected[1:-1] = x[:-2] + 10 * x[1:-1] + 100 * x[2:] if n > 2 else 0
        found = check(inner_stencil, lambda: np.zeros(n), X, n)
        np.testing.assert_array_equal(found, expected)
        assert check(shifted_sum, lambda: Scalar(0.0), X, c) == (x * np.arange(n)).sum()
        found = check(sizes_by_shift, dense(1), X)
        np.testing.assert_array_equal(found, np.concatenate([[0, 0], x]))

    property_()


def shifted_there_and_back(z, y, x):
    y[...] = 0
    for i in _:
        y[i + 2] += x[i]
    z[...] = 0
    for j in _:
        z[()] += y[j - 1] * j
    return z


def below_zero(y, x):
    y[...] = 0
    for i in _:
        y[i - 1] += x[i]
    return y


def test_a_declared_tensor_reaches_as_far_as_the_shifted_writes() -> None:
    x = np.array([1.0, 2.0, 3.0])
    found = check(shifted_there_and_back, lambda: Scalar(0.0), dense(1)(), x)
    assert found == (x * (np.arange(3) + 3)).sum()
    for backend in BACKENDS:
        with pytest.raises(DimensionMismatch, match="starts at -1"):
            on(backend, below_zero)(dense(1)(), x)


def test_a_range_must_lie_within_the_shifted_dimension() -> None:
    for backend in BACKENDS:
        y, x = np.zeros(4), np.ones(4)
        with pytest.raises((DimensionMismatch, OutOfBounds)):
            on(backend, inner_stencil)(y, x, 6)
        np.testing.assert_array_equal(y, 0)
