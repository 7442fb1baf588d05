"""Tests that are the same for all indices of a gap are made before its loop."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_levels import Dense, Element, Scalar, SparseHash, SparseList

E = Element(0.0)
LISTS = SparseList(SparseList(E))
HASHES = SparseHash(SparseHash(E))


def largest(y, A, x):
    y[...] = 0
    for i in _:
        t = Scalar(-np.inf)
        for j in _:
            t[()] = max(t[()], A[i, j] * x[j])
        if t[()] != 0:
            y[i] = t[()]


def counted(y, A, x):
    """What comes before the test depends on what is written behind it."""
    y[...] = 0
    c = Scalar(0)
    for i in _:
        t = Scalar(0.0)
        t[()] = c[()] % 3
        for j in _:
            t[()] += A[i, j] * x[j]
        if t[()] != 1:
            c[()] += 1
            y[i] = t[()]


def twice(y, A, x):
    y[...] = 0
    for i in _:
        t = Scalar(-np.inf)
        s = Scalar(0.0)
        for j in _:
            t[()] = max(t[()], A[i, j])
            s[()] += A[i, j] * x[j]
        if t[()] <= 0 and s[()] == 0:
            y[i] = t[()] + 1


def by_index(y, A, x):
    y[...] = 0
    for i in _:
        t = Scalar(0.0)
        for j in _:
            t[()] += A[i, j] * x[j]
        if t[()] + i > 3:
            y[i] = t[()]


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize("function", [largest, counted, twice, by_index])
@pytest.mark.parametrize("format", [LISTS, HASHES, Dense(SparseList(E))], ids=str)
def test_results_are_those_of_the_reference(function, format, backend):
    rng = np.random.default_rng(3)
    called = kernel(function, backend=backend)
    for shape in ((9, 4), (1, 1), (5, 0), (0, 3)):
        a = np.where(rng.random(shape) < 0.2, rng.integers(-3, 4, shape), 0.0)
        x = rng.integers(0, 3, shape[1]) * 1.0
        wanted = called.reference(np.zeros(shape[0]), a, x)["y"]
        y = Tensor(SparseList(E), (shape[0],))
        called(y, Tensor(format, a), x)
        np.testing.assert_array_equal(y.to_numpy(), wanted)


def test_gaps_of_2_to_the_40_rows():
    n = 2**40
    A = Tensor.from_buffers(
        LISTS, (n, 3),
        {
            "0_ptr": np.array([0, 2]), "0_idx": np.array([5, n - 7]), "1_ptr": np.array([0, 1, 3]),
            "1_idx": np.array([1, 0, 2]), "2_val": np.array([-2.0, 4, 5]),
        },
    )  # fmt: skip
    y = Tensor(SparseList(E), (n,))
    kernel(largest)(y, A, np.array([1.0, 2, 3]))
    assert (y.nstored, y[n - 7]) == (1, 15)


def until(A, n, m):
    """What leaves the loop stands beside what is set."""
    found = last = -1
    for i in range(n):
        t = 0.0
        for j in range(m):
            t += A[i, j]
            if t > 2 and found < 7:
                last = j
                break
        found += 1
    return found, last


def first(A, n, m):
    for i in range(n):
        t = 0.0
        for j in range(m):
            if A[i, j] < 0:
                continue
            t += A[i, j]
            if t > 2:
                return i, j
    return -1, -1


def behind(A, n, m):
    """The gap behind what is stored leaves at its first index, if at all."""
    t, found = 0.0, -1
    for i in range(n):
        for j in range(m):
            if t > 3 and j > 1:
                found = j
                break
            t += A[i, j]
    return t, found


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize("function", [until, first, behind])
@pytest.mark.parametrize("format", [LISTS, HASHES, Dense(SparseList(E))], ids=str)
def test_loops_that_are_left(function, format, backend):
    rng = np.random.default_rng(5)
    called = kernel(function, backend=backend)
    for shape in ((9, 6), (1, 1), (5, 0), (0, 3), (12, 12)):
        a = np.where(rng.random(shape) < 0.3, rng.integers(-2, 4, shape), 0.0)
        assert called(Tensor(format, a), *shape) == function(a, *shape)


@pytest.mark.parametrize("function", [until, first])
def test_gaps_before_an_exit_have_no_turns(function):
    m = 2**40
    A = Tensor.from_buffers(
        Dense(SparseList(E)), (2, m),
        {"1_ptr": np.array([0, 2, 3]), "1_idx": np.array([5, m - 2, 3]), "2_val": np.ones(3)},
    )  # fmt: skip
    assert kernel(function)(A, 2, m) == (1 if function is until else -1, -1)
