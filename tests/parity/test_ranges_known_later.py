"""Conditions around accesses that a range would leave whose ends are known at run time."""

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.errors import OutOfBounds
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseList

FORMATS = [level(Element(0.0)) for level in (Dense, SparseList, RunList, SparseByteMap)]


def start_from_memory(y, x, p):
    for i in range(len(y)):
        for j in range(p[i], len(x)):
            if j > 0:
                y[i] += x[j - 1]


def stop_from_memory(y, x, p):
    for i in range(len(y)):
        for j in range(p[i] + 6):
            y[i] += x[j + 1] if j + 1 < len(x) else 0


def outer_index(y, x, p):
    for i in range(len(y)):
        for j in range(i, len(x)):
            if j > 0:
                y[i] += x[j - 1]
        for j in range(i + 1):
            if j + 1 < len(x):
                y[i] += x[j + 1]


def variable(y, x, p):
    m = 0
    while m < 3:
        for j in range(m, len(x)):
            if j > 0:
                y[j] += x[j - 1]
        m += 1


def write(y, x, p):
    for i in range(len(x)):
        for j in range(p[i], len(x)):
            if j > 0:
                y[j - 1] += x[i]


def leaving(y, x, p):
    for i in range(len(x)):
        for j in range(p[i], len(x)):
            if j == 0:
                continue
            y[i] += x[j - 1]


def both_sides(y, x, p):
    for i in range(len(y)):
        for j in range(p[i], len(x)):
            y[i] += (x[j - 1] if j > 0 else 0) + (x[j + 1] if j < len(x) - 1 else 0) + x[j]


def downwards(y, x, p):
    for i in range(len(y)):
        for j in range(len(x) - 1, p[i] - 1, -1):
            if j > 0:
                y[i] += x[j - 1]


def in_steps(y, x, p):
    for i in range(len(y)):
        for j in range(p[i], len(x), 2):
            if j > 0:
                y[i] += x[j - 1]


def above_the_outer_index(y, x, p):
    for i in range(len(x)):
        for j in range(i, len(x)):
            if j > i:
                y[i] += x[j - 1]


def in_blocks(y, x, p):
    for i in range(0, len(x), 4):
        for j in range(i, min(i + 4, len(x))):
            if j > i:
                y[j] = x[j] * x[j - 1]


def in_segments(y, x, p):
    for i in range(len(y) - 1):
        for j in range(p[i], p[i + 1]):
            if j > p[i] and x[j] >= x[j - 1]:
                y[i] += 1
            if j + 1 < p[i + 1]:
                y[i] += x[j + 1]


def segments_downwards(y, x, p):
    for i in range(len(y) - 1):
        for j in reversed(range(p[i], p[i + 1])):
            if j > p[i]:
                y[i] += x[j - 1]


def named_ends(y, x, p):
    for i in range(len(y) - 1):
        first, last = p[i], p[i + 1]
        for j in range(first - 2, last + 2):
            if first <= j < last:
                y[i] += x[j]


def an_end_that_moves(y, x, p):
    m = 1
    for i in range(len(y)):
        for j in range(m - 1, len(x)):
            if j >= m:
                y[i] += x[j - 1]
        m += 1


PROGRAMS = (
    start_from_memory, stop_from_memory, outer_index, variable, write, leaving, both_sides,
    downwards, in_steps, above_the_outer_index, in_blocks, in_segments, segments_downwards,
    named_ends, an_end_that_moves,
)  # fmt: skip


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_condition_keeps_the_access_inside(program, backend):
    p, x = np.array([0, 3, 0, 1, 5, 2]), np.arange(1.0, 7.0)
    wanted = np.zeros(6)
    program(wanted, x, p)
    for fmt in FORMATS:
        y = np.zeros(6)
        kernel(program, backend=backend)(y, Tensor(fmt, x), p)
        np.testing.assert_array_equal(y, wanted, err_msg=str(fmt))


def too_weak(y, x, p):
    for i in range(len(y)):
        for j in range(p[i], len(x)):
            if j < 5:
                y[i] += x[j - 1]


def too_weak_downwards(y, x, p):
    for i in range(len(y)):
        for j in range(len(x) - 1, p[i] - 1, -1):
            if j == 3 or x[j - 1] > 0:
                y[i] += 1


def of_a_variable(y, x, p):
    """The test is false before the loop, and true in some of its turns."""
    s = 0.0
    for i in range(len(y)):
        for j in range(p[i] + 9):
            y[i] += x[j] if s > 0.5 else 0.25
            s = s + 1.0


def of_what_it_writes(y, x, p):
    for i in range(len(y)):
        for j in range(p[i] + 9):
            y[i] += x[j] if y[0] > 0.5 else 0.25


def of_an_end_that_it_moves(y, x, p):
    """The condition begins to hold below the range that it has when the loop begins."""
    m = 1
    for i in range(len(y)):
        for j in range(p[i], len(x)):
            if j >= m:
                y[i] += x[j - 1]
            m = 0


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize(
    "program",
    [too_weak, too_weak_downwards, of_a_variable, of_what_it_writes, of_an_end_that_it_moves],
)
def test_another_condition_does_not(program, backend):
    for fmt in FORMATS:
        with pytest.raises(OutOfBounds):
            kernel(program, backend=backend)(np.zeros(6), Tensor(fmt, np.ones(6)), np.zeros(6, int))


@pytest.mark.parametrize("backend", ["interpreter", "c"])
def test_what_the_range_itself_sizes_is_checked_as_a_whole(backend):
    """Beside a read of the same tensor that a condition keeps inside."""

    @kernel(backend=backend)
    def ones(y, p, n):
        w = Tensor(Dense(Element(0.0)))
        w[...] = 0
        for j in range(p[0], n):
            w[j] = 1.0
            if j > 0:
                y[0] += w[j]

    y = np.zeros(1)
    ones(y, np.array([0]), 5)
    assert y[0] == 4
    with pytest.raises(OutOfBounds):
        ones(y, np.array([-2]), 5)
