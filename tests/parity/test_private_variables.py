"""Names that each turn of a loop sets before it reads them: what the turns of a run do is done
once. C, the interpreter, the reference and Python agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.testing import backend_names
from finch_levels import Dense, Element, RunList, SparseList, SparseRunList

BACKENDS = backend_names()


def clipped(y, x, z, A, n):
    s = 0.0
    for i in range(n):
        t = x[i]
        if t > 1:
            t = 1.0
        s += t
    return s


def either(y, x, z, A, n):
    s = 0.0
    m = -5.0
    for i in range(n):
        if x[i] > z[i]:
            t = 1.0
            u = z[i]
        else:
            t = x[i]
            u = t - z[i]
        s += t * u
        m = max(m, t + u)
    return s, m


def halved(y, x, z, A, n):
    s = 0.0
    steps = 0
    for i in range(n):
        t = x[i]
        k = 0
        while t > 0.5:
            t /= 2
            k += 1
            if k > 2:
                break
        s += t
        steps += k
    return s, steps


def left_out(y, x, z, A, n):
    s = 0.0
    for i in range(n):
        t = x[i]
        t *= 2
        if t == 4:
            continue
        t += 1
        s += t
    return s


def outlives(y, x, z, A, n):
    t = -1.0
    u = 7.0
    s = 0.0
    for i in range(n):
        t = x[i]
        if t > 2:
            t = 2.0
            u = t
        s += t
    return s, t, u


def carried(y, x, z, A, n):
    """Each turn reads what the one before has left: no name is private."""
    t = 0.0
    k = 0
    s = 0.0
    for i in range(n):
        s += t
        t = x[i]
        if x[i] > 1:
            k = k + 1
        s += k
    return s, t, k


def seen_before(y, x, z, A, n):
    t = 0.0
    s = 0.0
    for i in range(n):
        if x[i] > 1:
            t = x[i] + 1
            t = t / 2
        s += t
    return s, t


def rows(y, x, z, A, n):
    for i in range(n):
        t = 0.0
        for j in range(n):
            t += A[i, j] * x[j]
        if t > 3:
            t = 3.0
        y[i] = t


def weighted(y, x, z, A, n):
    s = 0.0
    for i in range(n):
        t = 1.0
        for j in range(n):
            t += z[j]
        t = t * x[i]
        s += t
    return s


def stored_runs(y, x, z, A, n):
    y[...] = 0
    for i in range(n):
        t = x[i]
        if t > 1:
            t = t - 1
        y[i] = t


def collected(y, x, z, A, n):
    s = 0.0
    for i in range(n):
        w = np.zeros(n)
        for j in range(n):
            w[j] += x[i] * z[j]
        for j in range(n):
            s += w[j] * z[j]
    return s


def added_up(y, x, z, A, n):
    """The workspace keeps what the turns before have left."""
    w = np.zeros(n)
    s = 0.0
    for i in range(n):
        for j in range(n):
            w[j] += x[i] * z[j]
        for j in range(n):
            s += w[j]
    return s


PROGRAMS = (
    clipped, either, halved, left_out, outlives, carried, seen_before, rows, weighted, stored_runs,
    collected, added_up,
)  # fmt: skip
VECTORS: list[Any] = [RunList, SparseRunList, SparseList]


def given(n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    x, z, A = (np.repeat(rng.integers(0, 5, m), rng.integers(1, 5, m)) for m in (n, n, n * n))
    return x[:n] / 1.0, z[:n] / 1.0, A[: n * n].reshape(n, n) / 1.0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("level", VECTORS, ids=lambda level: level.__name__)
def test_programs(backend, program, level):
    leaf = Element(0.0)
    compiled = kernel(backend=backend)(program)
    for n in (0, 1, 9, 16):
        x, z, A = given(n)
        y = np.zeros(n)
        numbers = program(y, x, z, A, n)
        fill = program in (rows, stored_runs)
        found = Tensor(level(leaf), (n,)) if program is stored_runs else np.zeros(n)
        args = Tensor(level(leaf), x), Tensor(RunList(leaf), z), Tensor(Dense(level(leaf)), A), n
        result = compiled(found, *args)
        if fill:
            np.testing.assert_array_equal(np.asarray(found), y)
        else:
            np.testing.assert_array_equal(result, numbers)
        referred = compiled.reference(np.zeros(n), *args)
        np.testing.assert_array_equal(referred["y"] if fill else referred, y if fill else numbers)


@pytest.mark.parametrize("program", [clipped, either, halved, left_out, weighted])
def test_one_turn_a_run(program):
    """No loop runs over the indices of a run: the code is that of a run."""
    ends, values = np.array([5, 10**8, 10**9]), np.array([1.0, 3.0, 0.0])
    buffers = {"0_ptr": np.array([0, 3]), "0_right": ends, "1_val": values}
    x = Tensor.from_buffers(RunList(Element(0.0)), (10**9,), buffers)
    A = Tensor(Dense(RunList(Element(0.0))), (2, 2))
    args = np.zeros(1), x, x, A, 10**9
    assert "for i in" not in kernel(program).lower(*args).as_text("assembly")
    found = kernel(program)(*args)
    sums = {
        clipped: 1e8,
        either: (0.0, 3.0),
        halved: (0.5 * 5 + 0.375 * (10**8 - 5), 3 * (10**8 - 5) + 5),
        left_out: 3.0 * 5 + 7.0 * (10**8 - 5) + 9 * 10**8,
        weighted: (1.0 + 5 + 3.0 * (10**8 - 5)) * (5 + 3.0 * (10**8 - 5)),
    }
    np.testing.assert_allclose(found, sums[program], rtol=1e-12)


def test_a_workspace_of_a_turn_is_filled_once_a_run():
    x, z = (Tensor(RunList(Element(0.0)), np.full(100, 2.0)) for _ in range(2))
    args = np.zeros(1), x, z, np.zeros((1, 1)), 100
    assert "for i in" not in kernel(collected).lower(*args).as_text("assembly")
    assert kernel(collected)(*args) == 100 * 100 * 8.0


def test_strict_sums_go_index_by_index():
    x = Tensor(RunList(Element(0.0)), np.full(10, 0.1))
    wanted = clipped(None, np.full(10, 0.1), None, None, 10)
    for backend in BACKENDS:
        strict = kernel(backend=backend, strict=True)(clipped)
        assert strict(np.zeros(1), x, x, np.zeros((1, 1)), 10) == wanted
