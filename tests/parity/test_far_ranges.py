"""Empty ranges whose ends are near those of int64 have no turns, in whichever format they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import DimensionMismatch, OutOfBounds, Tensor, kernel
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseHash,
    SparseList,
    SparseRunList,
)

MOST, LEAST = 2**63 - 1, -(2**63)
X = np.array([0.0, 0, 1, 1, 0, 3])
FORMATS = (Dense, RunList, SparseRunList, SparseBlockList, SparseList, SparseBand, SparseHash)
pytestmark = pytest.mark.parametrize("backend", backend_names())


def tails(y, A, first):  # type: ignore[no-untyped-def]
    for r in range(len(first)):
        for j in range(first[r], A.shape[1]):
            y[r] += A[r, j]


@pytest.mark.parametrize("level", FORMATS)
def test_rows_that_begin_at_the_greatest_integer_are_empty(backend: str, level: Any) -> None:
    A, y = Tensor(Dense(level(Element(0.0))), np.array([X, X])), np.zeros(2)
    kernel(backend=backend)(tails)(y, A, np.array([3, MOST]))
    assert y.tolist() == [4.0, 0.0]


def ahead(y, x, a, b):  # type: ignore[no-untyped-def]
    for i in range(a, len(x)):
        y[i - a] += x[i]


def by_three(y, x, a, b):  # type: ignore[no-untyped-def]
    for i in range(a, b, 3):
        y[i] += x[i]


def by_three_within(y, x, a, b):  # type: ignore[no-untyped-def]
    for i in range(a, b, 3):
        if i >= a and i < b:
            y[i] += x[i]


def down(y, x, a, b):  # type: ignore[no-untyped-def]
    for i in range(b, a, -1):
        y[i] += x[i]


def down_by_two(y, x, a, b):  # type: ignore[no-untyped-def]
    for i in range(b, a, -2):
        y[i] += x[i]


def shifted(y, x, a, b):  # type: ignore[no-untyped-def]
    for i in range(a, b):
        if i - a >= 0 and i - a < len(x):
            y[i - a] += x[i - a]


def shifted_inside(y, x, a, b):  # type: ignore[no-untyped-def]
    for i in range(max(a, 0), min(b, len(x))):
        if i - a >= 0 and i - a < len(x):
            y[0] += x[i - a]


def mirrored(y, x, a, b):  # type: ignore[no-untyped-def]
    for i in range(a, b):
        if b - i >= 0 and b - i < len(x):
            y[b - i] += x[b - i]


def squared(y, x, a, b):  # type: ignore[no-untyped-def]
    for i in range(a, b):
        y[0] += x[i] * x[i]


def above(y, x, a, b):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        if i > a:
            y[i] += x[i]


EMPTY = {
    ahead: [(MOST, 0), (MOST - 1, 0), (2**62, 0)],
    by_three: [(MOST, LEAST), (MOST - 1, LEAST + 1), (5, LEAST)],
    by_three_within: [(MOST, LEAST), (5, LEAST)],
    down: [(MOST, LEAST), (MOST, 0), (MOST - 1, LEAST)],
    down_by_two: [(MOST, MOST - 1), (MOST, LEAST)],
    shifted: [(MOST, 2), (2**62, LEAST + 1), (LEAST, LEAST), (MOST, MOST)],
    shifted_inside: [(LEAST, 0), (2**62, LEAST + 1)],
    mirrored: [(MOST, 2), (0, LEAST), (2, -2), (-1, LEAST + 1)],
    squared: [(MOST, MOST), (MOST, LEAST), (0, LEAST)],
    above: [(MOST, 0), (MOST - 1, 0)],
}


@pytest.mark.parametrize("level", FORMATS)
@pytest.mark.parametrize("function", EMPTY, ids=lambda function: function.__name__)
def test_empty_ranges_have_no_turns(backend: str, function: Any, level: Any) -> None:
    run, x = kernel(backend=backend)(function), Tensor(level(Element(0.0)), X)
    for a, b in EMPTY[function]:
        y = np.zeros(8)
        run(y, x, a, b)
        assert y.tolist() == [0.0] * 8, (a, b)


def beyond(y, x, a, b):  # type: ignore[no-untyped-def]
    for i in range(a, b):
        if i <= b:
            y[0] += x[i]


def beyond_down(y, x, a, b):  # type: ignore[no-untyped-def]
    for i in reversed(range(a, b)):
        if i > a:
            y[0] += x[i]


@pytest.mark.parametrize("level", [Dense, RunList])
@pytest.mark.parametrize("function", [beyond, beyond_down])
@pytest.mark.parametrize("ends", [(MOST - 1, MOST), (LEAST, LEAST + 2)])
def test_ranges_beyond_all_indices_are_refused(
    backend: str, function: Any, level: Any, ends: tuple[int, int]
) -> None:
    x = Tensor(level(Element(0.0)), X)
    with pytest.raises((DimensionMismatch, OutOfBounds)):
        kernel(backend=backend)(function)(np.zeros(8), x, *ends)
