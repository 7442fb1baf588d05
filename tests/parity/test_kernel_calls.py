"""Kernels that call kernels: C, the interpreter and the reference agree with the kernels called one
after another from Python."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_core.testing import backend_names
from finch_levels import Dense, Element, Scalar, SparseList

BACKENDS = backend_names()
weights = np.array([1.0, 2.0, 3.0])
scale = 2.0


@kernel
def product(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


@kernel
def add(y, a, x):
    for i in _:
        y[i] += a * x[i] * scale


@kernel
def weighted(s, x):
    t = 0.0
    for i in _:
        t += weights[i] * x[i]
    s[()] += t


@kernel
def average(s, x):
    n = len(x)
    w = Tensor(Dense(Element(0.0)), (2 * n,))
    for i in range(n):
        w[i] = x[i]
        w[i + n] = 1
    t = Scalar(0.0)
    weighted(t, x)
    for i in range(2 * n):
        s[()] += w[i] * t[()]


def matrix():
    data = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0], [0.0, 0.0, 4.0]])
    return Tensor(Dense(SparseList(Element(0.0))), data)


def combined(y, A, x, n):
    i = n + 1
    w = Tensor(Dense(Element(0.0)), (len(x),))
    product(w, A, x)
    t = 0.0
    for k in _:
        t += w[k]
    add(y, t, w)
    add(a=1 + n, x=w, y=y)
    t = 3
    for _k in range(i):
        product(w, A, y)
        add(y, 0.5 * t, w)
        t -= 1
    for k in _:
        y[k] += i * weights[k]


@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_are_those_of_python(backend):
    A, x, y = matrix(), np.array([1.0, 2.0, 3.0]), np.ones(3)
    made = kernel(backend=backend)(combined)
    found = made.reference(y, A, x, 1)["y"]
    made(y, A, x, 1)
    wanted = np.ones(3)
    w = np.zeros(3)
    product(w, A, x)
    add(wanted, w.sum(), w)
    add(wanted, 2, w)
    for t in (3, 2):
        product(w, A, wanted)
        add(wanted, 0.5 * t, w)
    wanted += 2 * weights
    np.testing.assert_allclose(y, wanted)
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_in_calls_and_what_they_make(backend):
    @kernel(backend=backend)
    def twice(s, x):
        average(s, x)
        average(s, x)

    s, x = Scalar(0.0), np.array([1.0, 2.0, 3.0])
    twice(s, x)
    assert s.value == 2 * (14 * 9)
    assert twice.reference(Scalar(0.0), x)["s"] == 2 * (14 * 9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_names_of_the_caller_keep_their_meaning(backend):
    @kernel
    def shifted(y, t, n):
        i = t + n
        t = i * 2
        for k in _:
            y[k] += t

    @kernel(backend=backend)
    def caller(y):
        k = 5
        t = 1
        for i in _:
            y[i] = t + k
        for n in range(2):
            shifted(y, t * n, k)
            t += 1
        y[0] = k + t

    y = np.zeros(3)
    found = caller.reference(y)["y"]
    caller(y)
    assert y.tolist() == [8.0, 30.0, 30.0]
    assert found.tolist() == [8.0, 30.0, 30.0]


def test_a_number_from_outside_is_that_of_now(monkeypatch):
    @kernel
    def caller(y, x):
        add(y, 1, x)

    y = np.zeros(2)
    caller(y, np.ones(2))
    monkeypatch.setitem(globals(), "scale", 5.0)
    caller(y, np.ones(2))
    assert y.tolist() == [7.0, 7.0]


def test_a_strict_kernel_stays_strict():
    @kernel(strict=True)
    def total(s, x):
        for i in _:
            s[()] += x[i]

    @kernel
    def caller(s, x):
        total(s, x)

    x = np.array([1e16, 1.0, -1e16] * 40)
    s, t = Scalar(0.0), Scalar(0.0)
    caller(s, x)
    total(t, x)
    assert s.value == t.value == sum(x.tolist())
    assert "lanes" not in caller.lower(s, x).as_text("assembly")


def test_a_kernel_that_is_redefined_is_called_anew():
    names = {}

    def inner(y):
        for i in _:
            y[i] += 1

    def other(y):
        for i in _:
            y[i] += 10

    names["called"] = kernel(inner)
    called = names["called"]

    @kernel
    def caller(y):
        called(y)

    y = np.zeros(2)
    caller(y)
    called = kernel(other)
    caller(y)
    assert y.tolist() == [11.0, 11.0]
