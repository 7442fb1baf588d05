"""Turns over a run that store what an idempotent operator leaves: the result is a run, too. C, the
interpreter, the reference and Python agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_core.testing import backend_names
from finch_levels import Dense, Element, RunList, SparseBand, SparseBlockList, SparseList

BACKENDS = backend_names()


def highest(y, x, n):
    t = -1.0
    for i in range(n):
        t = max(t, x[i])
        y[i] = t
    return t


def bounded(y, x, n):
    """Several variables, a condition and a name."""
    low = 9.0
    high = -9.0
    for i in range(n):
        v = x[i]
        low = min(low, v)
        high = max(high, low + 1)
        if high > 2:
            y[i] = high - low
    return low, high


def before(y, x, n):
    """What a turn stores is what the one before left."""
    t = 0.0
    for i in range(n):
        y[i] = t
        t = max(t, x[i])
    return t


def summed(y, x, n):
    """Not idempotent."""
    t = 0.0
    for i in range(n):
        t = t + x[i]
        y[i] = t
    return t


def crossed(y, x, n):
    """A turn changes what it has read before."""
    a = 0.0
    b = 0.0
    for i in range(n):
        a = max(a, b)
        b = max(b, x[i])
        y[i] = a + 1
    return a, b


def both_ways(y, x, n):
    """Changed twice."""
    t = 0.0
    for i in range(n):
        t = max(t, x[i])
        y[i] = t
        t = min(t, 2.0)
    return t


PROGRAMS = (highest, bounded, before, summed, crossed, both_ways)
INPUTS: list[Any] = [RunList, SparseList, SparseBand, Dense]
OUTPUTS: list[Any] = [RunList, SparseList, SparseBlockList, Dense]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("level", INPUTS, ids=lambda level: level.__name__)
def test_programs(backend, program, level):
    @kernel(backend=backend)
    def stored(y, x, n):
        y[...] = 0
        return called(y, x, n)

    called = kernel(program)
    rng = np.random.default_rng(5)
    for n in (0, 1, 17):
        x = np.repeat(rng.integers(0, 4, n), rng.integers(1, 5, n))[:n] / 1.0
        wanted = np.zeros(n)
        numbers = program(wanted, x, n)
        for output in OUTPUTS:
            y = Tensor(output(Element(0.0)), (n,))
            np.testing.assert_array_equal(stored(y, Tensor(level(Element(0.0)), x), n), numbers)
            np.testing.assert_array_equal(y.to_numpy(), wanted)
        np.testing.assert_array_equal(stored.reference(np.zeros(n), x, n), numbers)


def test_one_turn_a_run():
    @kernel
    def running(y, x):
        y[...] = 0
        t = 0.0
        for i in _:
            t = np.maximum(t, x[i])
            y[i] = t
        return y

    n = 10**11
    buffers = {
        "0_ptr": np.array([0, 2]),
        "0_idx": np.array([5, 10**9]),
        "1_val": np.array([3.0, 1.0]),
    }
    x = Tensor.from_buffers(SparseList(Element(0.0)), (n,), buffers)
    lowered = running.lower(Tensor(RunList(Element(0.0))), x)
    assert "for i" not in lowered.as_text("assembly")
    y = running(Tensor(RunList(Element(0.0))), x)
    assert (y[4], y[5], y[n - 1], y.nstored) == (0, 3, 3, 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_zeros_of_both_signs_and_nan(backend):
    @kernel(backend=backend)
    def running(y, x):
        y[...] = 0
        t = -np.inf
        for i in range(6):
            t = np.maximum(t, x[i])
            y[i] = t
        return y

    for values in ([-0.0, 0.0, 0, 0, -0.0, 0], [-1.0, np.nan, 0, 0, 2, 0]):
        x = np.array(values)
        for level in (SparseList, RunList):
            found = running(Tensor(RunList(Element(0.0))), Tensor(level(Element(0.0)), x))
            wanted = np.maximum.accumulate(x)
            np.testing.assert_array_equal(found.to_numpy(), wanted)
