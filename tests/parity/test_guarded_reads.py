"""Reads under a condition, whose index is out of bounds where the condition does not hold: nothing
of the level is loaded there, and no error is raised; where it holds, the error is raised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_core.errors import OutOfBounds
from finch_core.testing import backend_names
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
from finch_wrappers import offset, window

BACKENDS = backend_names()
ZERO = Element(0.0)
ROWS = (SparseList, SparseByteMap, SparseHash, SparseBand, SparseBlockList, RunList, Dense)
MATRIX = np.array([[1.0, 0.0], [0.0, 0.0], [4.0, 5.0]])
FAR = 10**12
"""An index beyond all memory, so that a load would end the process."""


def first_of_rows(y, at, A, n):
    y[...] = 0
    for i in _:
        y[i] += A[at[i], 0] if at[i] >= 0 and at[i] < n else -1
    return y


def rows(y, at, A, n):
    y[...] = 0
    for i, j in _:
        y[i] += A[at[i], j] if at[i] < n and at[i] >= 0 else -1
    return y


def elements(y, at, x, n):
    y[...] = 0
    for i in _:
        y[i] = -1 if at[i] < 0 or at[i] >= n else x[at[i]]
    return y


def lengths(y, m, A, c):
    y[...] = 0
    for i in _:
        for j in range(m[i]):
            y[i] += A[0, j] if c > 0 else 1
    return y


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [first_of_rows, rows])
@pytest.mark.parametrize(
    "format",
    [Dense(inner(ZERO)) for inner in ROWS]
    + [outer(SparseList(ZERO)) for outer in (SparseByteMap, SparseList, SparseHash)],
    ids=str,
)
def test_rows_that_are_not_there_are_not_loaded(format: Any, program: Any, backend: str):
    held = Tensor(format, MATRIX)
    given = np.array([FAR, 2, -1, 0, 3, -FAR, 1])
    run = kernel(program, backend=backend)
    wanted = run.reference(np.zeros(7), given, MATRIX, 3)
    assert np.array_equal(run(np.zeros(7), given, held, 3), wanted)
    with pytest.raises(OutOfBounds, match="index 3 is out of bounds"):
        run(np.zeros(7), given, held, 4)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", ROWS)
def test_elements_that_are_not_there_are_not_loaded(level: Any, backend: str):
    vector = np.array([0.0, 2.0, 3.0, 0.0])
    held = Tensor(level(ZERO), vector)
    given = np.array([FAR, 2, -1, 0, 4, -FAR])
    run = kernel(elements, backend=backend)
    wanted = [-1, 3, -1, 0, -1, -1]
    assert run(np.zeros(6), given, held, 4).tolist() == wanted
    with pytest.raises(OutOfBounds, match="index 4 is out of bounds"):
        run(np.zeros(6), given, held, 5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("wrap", [lambda A: window(A, (1, 3), (0, 2)), lambda A: offset(A, 1, 0)])
def test_wrapped_rows_that_are_not_there_are_not_loaded(wrap: Any, backend: str):
    held = wrap(Tensor(Dense(SparseList(ZERO)), MATRIX))
    given = np.array([FAR, 1, -1, 0, 1])
    run = kernel(first_of_rows, backend=backend)
    assert np.array_equal(
        run(np.zeros(5), given, held, 2), run.reference(np.zeros(5), given, held, 2)
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "format", [Dense(SparseByteMap(ZERO)), SparseCOO(SparseCOO(ZERO)), Dense(RunList(ZERO))]
)
def test_ranges_that_are_not_there_are_not_walked(format: Any, backend: str):
    held = Tensor(format, MATRIX)
    most = np.array([0, 2, 5000])
    run = kernel(lengths, backend=backend)
    assert run(np.zeros(3), most, held, 0).tolist() == [0, 2, 5000]
    with pytest.raises(OutOfBounds, match="dimension 1 of A"):
        run(np.zeros(3), most, held, 1)


def test_levels_without_fields_are_read_without_a_branch():
    """Their positions are computed, and an element is loaded where it is needed."""
    given, dense = np.array([1, 0]), Tensor(Dense(Dense(ZERO)), MATRIX)
    run = kernel(first_of_rows, backend="interpreter")
    text = run.lower(np.zeros(2), given, dense, 3).as_text("assembly")
    assert "else:" not in text
