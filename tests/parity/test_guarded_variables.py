# ruff: noqa: B007, SIM113  # the loops are what users write
"""Accesses at variables and gathered indices that a condition keeps inside, though what it compares
changes later: Python on arrays that check each index, C and the interpreter agree."""

from __future__ import annotations

import numpy as np
import pytest
from random_conditions import Checked

from finch_core import Tensor, kernel
from finch_core.errors import OutOfBounds
from finch_core.testing import backend_names
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseHash, SparseList

FORMATS = [level(Element(0.0)) for level in (Dense, SparseByteMap, SparseHash, SparseList, RunList)]
pytestmark = pytest.mark.filterwarnings("ignore::finch_core.errors.PerformanceWarning")


def skip(y, x, p, n):
    j = n
    if j < n and x[j] > 0:
        j = 0
    y[0] = j


def runs(y, x, p, n):
    j = 0
    while j < n:
        j += 1
        if j < n and x[j] > 3:
            j += 1
        y[0] += 1


def padded(y, x, p, n):
    j = 0
    for i in range(n + 2):
        t = x[j] if j < n else 0.5
        y[0] += t
        j += 1


def lower_end(y, x, p, n):
    k = n - 3
    for i in range(n):
        if k > 0 and x[k - 1] > 0:
            k -= 2
    y[0] = k


def named(y, x, p, n):
    j = n - 1
    for i in range(3):
        b = j < n and x[j] > 0
        if b:
            j += 1
    y[0] = j


def alternative(y, x, p, n):
    j = n
    if j >= n or x[j] > 0:
        j += 1
    y[0] = j


def step(y, x, p, n):
    j = 0
    for i in range(n + 3):
        j += 1 if j < n and x[j] >= 0 else 0
    y[0] = j


def heap(y, x, p, n):
    r = 0
    while 2 * r + 1 < n:
        c = 2 * r + 1
        if c + 1 < n and x[c + 1] > x[c]:
            c += 1
        y[c] = x[c] - x[r]
        r = c


def merge(y, x, p, n):
    i = 0
    j = 0
    for k in range(len(y)):
        if i < 3 and (j >= n or x[i] <= x[j]):
            y[k] = x[i]
            i += 1
        elif j < n:
            y[k] = x[j]
            j += 1


def inner_loop(y, x, p, n):
    for i in range(n):
        j = p[i]
        while j < len(x) and x[j] > 1:
            j += 1
            y[i] += 1
        if j < len(x) and x[j] > 0:
            for k in range(2):
                j += k
        y[i] += j


def by_size(y, x, p, n):
    for i in range(len(p)):
        y[i] = x[p[i]] if p[i] < len(x) else -1


def by_both_ends(y, x, p, n):
    for i in range(len(p)):
        y[i] += x[p[i] - 1] if 0 <= p[i] - 1 < x.shape[0] else 0


def of_an_argument(y, x, p, n):
    y[0] = x[n] if n < len(x) else 1
    if n < len(x) and x[n] > 0:
        n = 0
    y[1] = n


PROGRAMS = (
    skip, runs, padded, lower_end, named, alternative, step, heap, merge, inner_loop, by_size,
    by_both_ends, of_an_argument,
)  # fmt: skip


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_condition_keeps_the_access_inside(program, backend):
    run = kernel(program, backend=backend)
    for values in ((1.0, 5.0, 4.0, 7.0, 2.0, 6.0), (0.0, 1.0, 0.0), (3.0,)):
        x = np.array(values)
        p = np.array([0, len(x), 1, len(x) - 1, 0, len(x) + 3])[: len(x) or 1]
        wanted = np.zeros(8)
        try:
            program(Checked(wanted), Checked(x), Checked(p), len(x))
        except IndexError:
            wanted = None
        for fmt in FORMATS:
            y = np.zeros(8)
            if wanted is None:
                with pytest.raises(OutOfBounds):
                    run(y, Tensor(fmt, x), p, len(x))
                continue
            run(y, Tensor(fmt, x), p, len(x))
            np.testing.assert_array_equal(y, wanted, err_msg=f"{fmt}, {values}")


def changed_before(y, x, p, n):
    j = 0
    for i in range(3):
        j += n
        y[0] += x[j] if i < n else 0.0


def changed_in_the_loop(y, x, p, n):
    j = n - 1
    for i in range(3):
        b = j < n
        j += 1
        if b:
            y[0] += x[j]


def another_variable(y, x, p, n):
    j = 0
    k = n
    if j < n and x[k] > 0:
        k = 0
    y[0] = k


def of_a_size_that_changes(y, x, p, n):
    w = Tensor(Dense(Element(0.0)), (n,))
    m = len(w)
    j = n
    if j <= m and x[j] > 0:
        j = 0
    y[0] = j


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize(
    "program", [changed_before, changed_in_the_loop, another_variable, of_a_size_that_changes]
)
def test_another_condition_does_not(program, backend):
    x = np.array([1.0, 2.0, 3.0])
    for fmt in FORMATS:
        with pytest.raises(OutOfBounds):
            kernel(program, backend=backend)(np.zeros(3), Tensor(fmt, x), np.zeros(3, int), 3)


def counted_at_once(y, x, p, n):
    j = 0
    for i in range(n):
        j += 200
    if j < 3:
        y[0] = x[j]


def test_what_only_counts_may_wrap():
    """Loops that count are made at once, by lowering or by C compilers: it takes no years to count
    beyond what 64 bits hold (decision 291)."""
    n = (1 << 63) // 200 + 1
    for fmt in FORMATS:
        run = kernel(counted_at_once, backend="c")
        with pytest.raises(OutOfBounds):
            run(np.zeros(3), Tensor(fmt, np.ones(3)), np.zeros(3, int), n)
