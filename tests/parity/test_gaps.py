"""Reductions that need the fill once: lists are walked without their indices."""

import numpy as np
import pytest

from finch_core import Tensor, _
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseCOO,
    SparseHash,
    SparseList,
)
from tests.parity.test_lowering_rules import BACKENDS

FORMATS = (
    Dense(SparseList(Element(0.0))), SparseList(SparseList(Element(0.0))),
    Dense(SparseByteMap(Element(0.0))), Dense(SparseHash(Element(0.0))),
    Dense(SparseBand(Element(0.0))), Dense(SparseBlockList(Element(0.0))),
    Dense(RunList(Element(0.0))), SparseCOO(SparseCOO(Element(0.0))),
)  # fmt: skip


def greatest(y, A):
    for i, j in _:
        y[i] = np.maximum(y[i], A[i, j])


def least_scaled(y, A):
    for i, j in _:
        y[i] = min(y[i], 3 - 2 * A[i, j])


def greatest_inside(y, A):
    for i in _:
        for j in range(1, A.shape[1] - 1):
            y[i] = np.maximum(y[i], A[i, j])


def greatest_next(y, A):
    for i in _:
        for j in range(A.shape[1] - 1):
            y[i] = np.maximum(y[i], A[i, j + 1])


def greatest_beside(y, A):
    for i, j in _:
        y[i] = np.maximum(y[i], A[i, j] * j)


def greatest_of_steps(y, A):
    for i in _:
        for j in range(0, A.shape[1], 2):
            y[i] = np.maximum(y[i], A[i, j])


def two_ways(y, A):
    for i, j in _:
        y[i] = np.maximum(y[i], A[i, j])
        y[0] += A[i, j]


def matrix(rows, columns, seed, nan=False):
    """Rows that are full, empty, negative, and with one entry, at the front or at the end."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.6)
    for i, row in enumerate(found):
        kind = i % 6
        if kind == 1:
            row[:] = -1 - rng.random(columns)
        elif kind == 2:
            row[:] = 0
        elif kind == 3 and columns:
            row[:] = -2
            row[rng.choice((0, columns - 1))] = 0
        elif kind == 4 and columns:
            row[:] = 0
            row[rng.choice((0, columns - 1))] = -3
    if nan and rows > 4:
        found[4, 1] = np.nan
    return found


@BACKENDS
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "function",
    [
        greatest, least_scaled, greatest_inside, greatest_next, greatest_beside, greatest_of_steps,
        two_ways,
    ],
)  # fmt: skip
def test_the_fill_enters_where_something_is_absent(function, format, backend):
    run = Kernel(function, Options(backend=backend))
    for rows, columns, seed in ((0, 3, 0), (3, 0, 1), (1, 1, 2), (7, 2, 3), (13, 70, 4)):
        A = matrix(rows, columns, seed, nan=seed == 4)
        start = np.full(rows, -np.inf if "least" not in function.__name__ else np.inf)
        wanted, found = start.copy(), start.copy()
        A_given = Tensor(format, A)
        wanted = run.reference(wanted, A_given).get("y", wanted)
        run(found, A_given)
        np.testing.assert_array_equal(found, wanted)


def test_a_row_is_walked_without_its_indices():
    A, y = Tensor(Dense(SparseList(Element(0.0))), matrix(9, 9, 0)), np.zeros(9)
    for function in (greatest, least_scaled):
        new = Kernel(function, Options()).lower(y, A).as_text("source")
        old = Kernel(function, Options(disabled=frozenset({"gaps"}))).lower(y, A)
        assert "_idx" not in new
        assert "_idx" in old.as_text("source")
    strict = Kernel(greatest, Options(strict=True)).lower(y, A)
    assert "_idx" in strict.as_text("source")


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_extremes_in_lanes_are_those_of_numpy(name, dtype):
    def run_max(x):
        s = x[0]
        for i in _:
            s = np.maximum(s, x[i])
        return s

    def run_min(x):
        s = x[0]
        for i in _:
            s = np.minimum(s, x[i])
        return s

    run = Kernel({"max": run_max, "min": run_min}[name], Options())
    rng = np.random.default_rng(0)
    for n in (1, 3, 8, 63, 64, 65, 200, 1003):
        x = (rng.standard_normal(n) * 100).astype(dtype)
        assert run(x) == getattr(np, name)(x)
        if np.dtype(dtype).kind == "f":
            for place in {0, n // 2, n - 1}:
                y = x.copy()
                y[place] = np.nan
                assert np.isnan(run(y)), (n, place)
