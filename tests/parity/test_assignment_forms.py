"""Assignments with several targets or an annotation, and membership in a tuple: C, the interpreter,
the reference and Python, which runs the undecorated function, agree."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.errors import DimensionMismatch
from finch_core.testing import backend_names
from finch_levels import Dense, Element, SparseList


def shapes(y, x, B):
    n, m = B.shape
    (p, q), r = B.shape, 3
    for i in range(n):
        y[i] = x[i] + m
    y[0] += p * q + r
    return n, m


def chains(y, x, B):
    a = b = x[0] * 2
    y[0] = y[1] = a + b
    for i in range(len(y)):
        c = d = i
        a = b = a + c + d + x[i]
        y[i] = y[i] + a - b
    e = f = -1
    f += 3
    return a, e, f


@kernel
def total(x):
    t = 0.0
    for i in _:
        t += x[i]
    return t


def chained_calls(y, x, B):
    v = x[1]
    a = b = float(v)
    y[0] = y[1] = max(x[2], a)
    for i in range(len(y)):
        c = d = abs(x[i] - b) if x[i] > 0 else 2
        a = b = min(a + c, 9.0)
        y[i] += d
    s = t = total(x)
    return a, b, s + t


def annotations(y, x, B):
    t: float = 0
    k: int = 2
    for i in range(len(x)):
        u: np.float64 = x[i]
        t += u / k
    return t


def members(y, x, B):
    for i in range(len(y)):
        if i in (0, 2):
            y[i] = 1
        if x[i] not in [1, 2 + 1]:
            y[i] += 2
        y[i] += 4 * (x[i] in {3})
        while y[i] not in (5, 7, 9):
            y[i] += 1


def wholes(y, x, B):
    y[0] = 3
    y[:] = 0
    w = np.ones((4, 3))
    w[0, 0] = 2
    w[:, :] = 1
    y[1] += w[0, 0]


def arrays(y, x, B):
    n = len(x)
    w, k = np.zeros(n), np.full(2, 7)
    for i in range(n):
        u = np.empty(shape=(B.shape[1], 2), dtype=np.int32)
        u[1, 1] = i
        w[i] += x[i] + u[1, 1]
        c = np.zeros((2,), bool)
        c[0] = x[i] > 1
        y[i] = w[i] + k[1] + c[0] + c[1]


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("fmt", [Dense(Element(0.0)), SparseList(Element(0.0))], ids=str)
@pytest.mark.parametrize(
    "program", [shapes, chains, chained_calls, annotations, members, wholes, arrays]
)
def test_forms(backend, fmt, program):
    x, B = np.array([0.0, 1.0, 3.0, 0.5]), np.arange(12.0).reshape(4, 3)
    y, wanted = np.zeros(4), np.zeros(4)
    numbers = program(wanted, x, B)
    compiled = kernel(backend=backend)(program)
    found = compiled(y, Tensor(fmt, x), Tensor(Dense(fmt), B))
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_equal(found, numbers)
    referred = compiled.reference(np.zeros(4), x, B)
    np.testing.assert_equal(referred, {"y": wanted} if numbers is None else numbers)


def test_a_shape_has_as_many_dimensions():
    @kernel
    def rank(y, B):
        n, m, k = B.shape
        y[0] = n + m + k

    with pytest.raises(DimensionMismatch, match="dimension"):
        rank(np.zeros(1), np.ones((2, 3)))
