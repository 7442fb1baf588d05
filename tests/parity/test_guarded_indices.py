"""Indices that are read at indices that are read, where a condition before them does not hold: they
are not looked up. Python on arrays that check each index, C, the interpreter and the reference
agree."""

from __future__ import annotations

import numpy as np
import pytest
from random_conditions import Checked

from finch_core import Tensor, kernel
from finch_core.errors import OutOfBounds
from finch_core.testing import backend_names
from finch_levels import Dense, Element, SparseByteMap, SparseHash, SparseList

ZERO = Element(0.0)
pytestmark = pytest.mark.filterwarnings("ignore::finch_core.errors.PerformanceWarning")


def both(y, x, at, n):
    for i in range(len(at)):
        if at[i] < n and x[at[at[i]]] > 2 and i > 0:
            y[i] += x[at[at[i]]]


def otherwise(y, x, at, n):
    for i in range(len(at)):
        if at[i] < n and x[at[at[i]]] > 2:
            y[i] += 1
        else:
            y[i] -= 1


def value(y, x, at, n):
    for i in range(len(at)):
        y[i] = at[i] < n and x[at[at[i]]] > 2


def ternary(y, x, at, n):
    for i in range(len(at)):
        y[i] = 7 if at[i] >= n or x[at[at[i]]] > 2 else x[at[at[i]]]


def named(y, x, at, n):
    for i in range(len(at)):
        t = at[i]
        y[i] = 7 if t >= n or x[at[t]] > 2 else x[at[t]]


def walk(y, x, at, n):
    for i in range(len(at)):
        t = at[i]
        while t < n and x[at[t]] < 3:
            t += 1
        y[i] = t


def greatest(y, x, q, w):
    head = 0
    tail = 0
    for i in range(len(x)):
        while tail > head and x[q[tail - 1]] <= x[i]:
            tail -= 1
        q[tail] = i
        tail += 1
        if q[head] <= i - w:
            head += 1
        if i >= w - 1:
            y[i - w + 1] = x[q[head]]


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("level", [Dense, SparseList, SparseByteMap, SparseHash])
@pytest.mark.parametrize("program", [both, otherwise, value, ternary, named, walk])
def test_an_index_behind_a_condition(backend, level, program):
    at, x, wanted, y = np.array([2, 9, 1, 0]), np.arange(10.0), np.zeros(4), np.zeros(4)
    program(Checked(wanted), Checked(x), Checked(at), 4)
    compiled = kernel(backend=backend)(program)
    given = Tensor(level(ZERO), x)
    np.testing.assert_array_equal(compiled.reference(np.zeros(4), given, at, 4)["y"], wanted)
    compiled(y, given, at, 4)
    np.testing.assert_array_equal(y, wanted)
    with pytest.raises(OutOfBounds):
        compiled(y, given, at, 10)


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("width", [1, 3, 8])
def test_the_greatest_of_each_window(backend, width):
    x = np.random.default_rng(0).integers(0, 9, 8).astype(float)
    y, q = np.zeros(9 - width), np.zeros(8, int)
    kernel(backend=backend)(greatest)(y, x, q, width)
    windows = np.lib.stride_tricks.sliding_window_view(x, width)
    np.testing.assert_array_equal(y, windows.max(axis=1))
