"""Kernels that return numbers: C, the interpreter, the reference and Python give the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, _, kernel, minby
from finch_core.testing import backend_names
from finch_levels import Dense, Element, SparseList

BACKENDS = backend_names()


def summed(x, n):
    t = 0.0
    for i in range(n):
        t += x[i]
    return t


def mean_and_count(x, n):
    t = 0.0
    m = 0
    for i in range(n):
        if x[i] > 0:
            t += x[i]
            m += 1
    return t / max(m, 1), m


def element(x, n):
    for i in range(n):
        x[i] = i
    return x[n - 1] if n > 0 else -1.0


def value_of_a_let(x, n):
    m = 2 * n + 1
    return m


def parameter(x, n):
    n = n // 2
    return n


def position(x, n):
    best = (9.0, -1)
    for i in range(n):
        if x[i] < best[0]:
            best = (x[i], i)
    return best[1]


FUNCTIONS = [summed, mean_and_count, element, value_of_a_let, parameter, position]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("made", [None, Dense(Element(0.0)), SparseList(Element(0.0))], ids=str)
def test_numbers_are_returned(function: Any, made: Any, backend: str) -> None:
    if made is not None and function is element and "Sparse" in str(made):
        made = Dense(Element(0.0))
    run = kernel(backend=backend)(function)
    for n in (0, 1, 6):
        data = np.array([2.0, 0.0, -1.0, 0.0, 3.0, 0.0])[:n]
        wanted = function(data.copy(), n)
        x = data if made is None else Tensor(made, data)
        assert run.reference(x, n) == wanted
        call = run.bind(x, n)
        for found in (run(x, n), run(x, n), call(), call()):
            assert found == wanted
            assert all(type(a) is not np.ndarray for a in np.atleast_1d(found).tolist())


def beside_a_tensor(y, x):
    y[...] = 0
    t = 0
    for i in _:
        y[i] = 2 * x[i]
        t += x[i]
    return y, t


def made_here(x):
    w = Tensor(Dense(Element(0.0)))
    w[...] = 0
    m = 0.0
    for i in _:
        w[i] = x[i] + 1
        m = max(m, x[i])
    return w, m


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_are_returned_beside_tensors(backend: str) -> None:
    x = np.array([1.0, 4.0, 2.0])
    y = Tensor(Dense(Element(0.0)))
    found = kernel(backend=backend)(beside_a_tensor)(y, x)
    assert found[0] is y
    assert found[1] == 7
    call = kernel(backend=backend)(made_here).bind(x)
    first, most = call()
    x[0] = 9
    second, more = call()
    assert (first.to_numpy().tolist(), most) == ([2, 5, 3], 4)
    assert (second.to_numpy().tolist(), more) == ([10, 5, 3], 9)


def caller_number(y, n):
    y[0] = n
    return n


def tensor_and_caller_number(y, n, m):
    y[0] = n + m
    return y, m


@pytest.mark.parametrize("backend", backend_names())
def test_a_number_of_the_caller(backend: str) -> None:
    first, both = (
        kernel(backend=backend)(caller_number),
        kernel(backend=backend)(tensor_and_caller_number),
    )
    y = np.zeros(2)
    assert first(y, 3) == first.reference(y, 3) == 3
    found = both(y, 3, 2.5)
    assert found[0] is y
    assert found[1] == 2.5
    assert y.tolist() == [5.5, 0.0]


def farthest(x):
    best = (np.inf, 0)
    for i in _:
        best = minby(best, (-x[i], i))
    return best


def inlined(y, x):
    summed_up(x)
    for i in _:
        y[i] = x[i]


@kernel
def summed_up(x):
    t = 0.0
    for i in _:
        t += x[i]
    return t


def test_tuples_threads_and_calls_in_kernels() -> None:
    assert kernel(farthest)(np.array([1.0, 5.0, 2.0])) == (-5.0, 1)
    y = np.zeros(2)
    kernel(inlined)(y, np.ones(2))
    assert y.tolist() == [1, 1]
    data = [np.full(100, float(k)) for k in range(40)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(summed_up, data * 20)) == [100.0 * k for k in range(40)] * 20
