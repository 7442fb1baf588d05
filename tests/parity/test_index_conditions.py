"""Written ranges that leave a tensor, whose accesses conditions on the index keep inside: the
interpreter, which checks each access, C, the reference and Python agree, over formats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import DimensionMismatch, Tensor, kernel
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
    SparsePinpoint,
    SparseRunList,
)

pytestmark = pytest.mark.sampled(0.29)

LEAF = Element(0.0)
LEVELS = [
    Dense, SparseList, SparseByteMap, SparseHash, RunList, SparseRunList, SparseBand,
    SparseBlockList,
]  # fmt: skip


def below_a_number(y, x, A, n, m):
    for d in range(2 * n):
        if d < m:
            y[0] += x[d]
        if d > 0 and d <= n - 2:
            y[0] += x[d]


def in_both(y, x, A, n, m):
    for d in range(-2, 2 * n):
        if d >= 0:
            if d < n:
                y[d] = max(x[d], 1) + x[n - 1 - d]
            else:
                y[0] += 1


def diagonal(y, x, A, n, m):
    for d in range(2 * n):
        y[0] += x[d] if d < m else 1
        if d == m - 1:
            y[0] += A[d, d]


def opposite(y, x, A, n, m):
    for i in range(2 * n):
        if i < n:
            for j in range(-1, 2 * n):
                if not (j >= n) and j >= 0:
                    y[i] += A[i, j] * x[j]


def three_conditions(y, x, A, n, m):
    for i in range(2 * n):
        for j in range(2 * n):
            if i < n and j < n and i + j < n:
                y[i] += A[i, j] * x[j] + max(x[i], 1)


def neighbours(y, x, A, n, m):
    for i in range(n):
        if i > 0:
            y[i] = x[i - 1] + x[i]
        if i < n - 1:
            y[i] += x[i + 1]


def values_in_conditions(y, x, A, n, m):
    for d in range(2 * n):
        if d < m and x[d] > 0:
            y[d] += x[d]


def first_and_last(y, x, A, n, m):
    for i in range(len(x)):
        if i == 0:
            y[i] = 1
        elif i == 1:
            y[i] = x[i - 1]
        else:
            y[i] = x[i - 1] + x[i - 2]
        y[i] += x[i] if i == 0 or i == len(x) - 1 else x[i - 1] + x[i + 1]
        if i != 1 and i != 0:
            y[i] += x[i - 2]


def sizes_in_expressions(y, x, A, n, m):
    for i in range(len(x)):
        y[i] = (x[i - 1] if i else 0) + (x[i + 1] if i < len(x) - 1 else 0)
        y[i] += x[i + 1] if i + 1 < A.shape[0] else 1
        if i == 0 or x[i - 1] > 1:
            y[i] += 1


def left_before(y, x, A, n, m):
    for i in range(len(x)):
        if i < 1:
            continue
        y[i] = x[i - 1]
        inside = i < len(x) - 1
        if not inside:
            y[i] += 1
            break
        y[i] += x[i + 1]


def downwards(y, x, A, n, m):
    """The condition on ``i`` is tested before what operands load there to tell their cases."""
    for i in range(n - 1, -1, -1):
        if i > 0:
            if i < n - 1:
                y[i] = x[i + 1]
                y[i] += x[i - 1]
            else:
                y[i] += x[i - 1]


def rows_above(y, x, A, n, m):
    """Rows of ``A`` are not looked up before the conditions on their indices."""
    for i in range(n):
        for j in range(n):
            y[j] += 1
            if i and (not i or j):
                y[i] += A[i - 1, j]
            y[i] += A[i - 1, j - 1] if i and j else x[j]


def rows_until(y, x, A, n, m):
    for i in range(n):
        if x[i] > 1:
            break
        for j in range(n):
            y[j] += 1
            if i != 0:
                y[i] += A[i - 1, j]
            if i != n - 1:
                y[j] += A[i + 1, j]


def rows_of_many(y, x, A, n, m):
    """The conditions on ``i`` are predicates of a merge of many operands."""
    for i in range(n):
        for j in range(1, n):
            if i - 1 != 1:
                y[j] += A[i, j]
            elif not A[i, j] > 1:
                if j - 1 >= 1:
                    y[i] = A[i, j - 1]
                elif j < 2:
                    y[j] = A[i - 1, j]
                else:
                    y[i] = A[i - 2, j - 1]
                if i <= n - 1:
                    y[j] += A[i - 1, j]


PROGRAMS = [
    below_a_number, in_both, diagonal, opposite, three_conditions, neighbours, values_in_conditions,
    first_and_last, sizes_in_expressions, left_before, downwards, rows_above,
    rows_until, rows_of_many,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::finch_core.errors.PerformanceWarning")
@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.__name__)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_conditions_keep_accesses_inside(function: Any, level: Any, backend: str) -> None:
    run = kernel(backend=backend)(function)
    for n in (0, 1, 4):
        rng = np.random.default_rng(n)
        x, A = rng.integers(0, 3, n) * 1.0, rng.integers(0, 3, (n, n)) * 1.0
        plain, y = np.zeros(max(n, 1)), np.zeros(max(n, 1))
        m = max(n - 1, 0)
        function(plain, x, A, n, m)
        args = Tensor(level(LEAF), x), Tensor(Dense(level(LEAF)), A), n, m
        np.testing.assert_array_equal(run.reference(y, *args)["y"], plain)
        run(y, *args)
        np.testing.assert_array_equal(y, plain)


def gathers(x, at, s, n):
    """The index of a row is read before the row is."""
    for i in range(n):
        for j in range(n):
            if i >= 1 and i - 1 < x.shape[0] and j < x.shape[1]:
                s[0] += x[i - 1, j]
            if i < len(at) and at[i] >= 0 and at[i] < x.shape[0] and j < x.shape[1]:
                s[0] += x[at[i], j]


def runs(x, at, s, n):
    """A run of the next row is behind the last one of a row."""
    for i in range(n):
        for j in range(n):
            if i < 2 and j < 1:
                s[0] += x[2 * i, j]
            if i < 3 and j < 3:
                s[0] += x[i, j]
            s[0] += x[i - 1, j + 1] if i > 0 and i < 4 and j < 2 else 1


@pytest.mark.filterwarnings("ignore::finch_core.errors.PerformanceWarning")
@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("outer", [Dense, SparseList], ids=lambda level: level.__name__)
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.__name__)
@pytest.mark.parametrize("function", [gathers, runs], ids=lambda f: f.__name__)
def test_nothing_is_loaded_before_its_condition(
    function: Any, level: Any, outer: Any, backend: str
) -> None:
    A = np.array([[0.0, 2, 0], [0, 3, 1], [2, 2, 0]])
    for places in ([1, 0], [2], []):
        at, plain, s = np.array(places, int), np.zeros(1), np.zeros(1)
        function(A, at, plain, 6)
        args = Tensor(outer(level(LEAF)), A), at, s, 6
        run = kernel(backend=backend)(function)
        np.testing.assert_array_equal(run.reference(*args)["s"], plain)
        run(*args)
        np.testing.assert_array_equal(s, plain)


def test_a_place_under_conditions_is_not_read_before_them() -> None:
    """Operands with many cases are read under predicates: no pass may move ``y[i]`` out of them."""
    args = np.zeros(4), Tensor(SparsePinpoint(LEAF), [1.0, 0, 0, 0])
    A = Tensor(SparseBand(Dense(LEAF)), np.ones((4, 4)))
    kernel(backend="interpreter")(three_conditions)(*args, A, 4, 4)
    wanted = np.zeros(4)
    three_conditions(wanted, np.array([1.0, 0, 0, 0]), np.ones((4, 4)), 4, 4)
    np.testing.assert_array_equal(args[0], wanted)


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("m", [5, 2**62, 2**63 - 1])
def test_what_conditions_leave_must_fit(m: int, backend: str) -> None:
    def beyond(y, x, n, m):
        for d in range(n):
            if d <= m - 1:
                y[0] += x[d]

    y = np.zeros(1)
    with pytest.raises(DimensionMismatch, match="the range ends at"):
        kernel(backend=backend)(beyond)(y, np.ones(4), 8, m)
    kernel(backend=backend)(beyond)(y, np.ones(4), 8, 4)
    kernel(backend=backend)(beyond)(y, np.ones(4), 8, 1 - 2**63)
    with pytest.raises(DimensionMismatch, match="the range ends at"):  # m - 1 wraps around
        kernel(backend=backend)(beyond)(y, np.ones(4), 8, -(2**63))
    assert y.tolist() == [4.0]


def shifted_on(y, x, k, n):
    for i in range(n):
        if i + k < n:
            y[i + k] += x[i]


def shifted_either_way(y, x, k, n):
    for i in range(n):
        if 0 <= i + k < len(x):
            y[i] += x[i + k]


def short_of_the_end(y, x, k, n):
    for i in range(n):
        if i < len(y) - k:
            y[i + k] += x[i]


def chosen_by_the_sum(y, x, k, n):
    for i in range(n):
        y[i] = x[i + k] if i + k < len(x) and i + k >= 0 else -1.0


def from_both_sides(y, x, k, n):
    for i in range(n):
        if i - k >= 0 and i + k < n:
            y[i] += x[i - k] + x[i + k]


def a_window(y, x, k, n):
    for i in range(n):
        for d in range(-k, k + 1):
            if 0 <= i + d < len(x):
                y[i] += x[i + d]


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("k", [0, 1, 3, 6, 9])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "loop",
    [
        shifted_on, shifted_either_way, short_of_the_end, chosen_by_the_sum, from_both_sides,
        a_window,
    ],
)  # fmt: skip
def test_sums_of_known_numbers_keep_accesses_inside(
    loop: Any, sign: int, k: int, backend: str
) -> None:
    """``i + k < n`` for a number of the caller's: which may be negative where a condition asks."""
    if sign < 0 and loop not in (shifted_either_way, chosen_by_the_sum, a_window):
        return
    x = np.arange(1.0, 7.0)
    wanted = np.zeros(6)
    loop(wanted, x, sign * k, 6)
    for level in (Dense, SparseList, RunList):
        y = np.zeros(6)
        kernel(backend=backend)(loop)(y, Tensor(level(LEAF), x), sign * k, 6)
        np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("k", [2**61, 2**63 - 1, -(2**63)])
def test_sums_that_could_wrap_say_nothing(k: int, backend: str) -> None:
    for loop in (shifted_on, shifted_either_way, chosen_by_the_sum):
        with pytest.raises(DimensionMismatch, match="the range"):
            kernel(backend=backend)(loop)(np.zeros(6), np.ones(6), k, 6)
