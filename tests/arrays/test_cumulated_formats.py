"""Cumulative sums of arrays whose outer dimensions hold one element, block or run."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import fa, same

from finch_core import Tensor
from finch_core.interface.plugins import hub
from finch_levels import Dense, Element, SparseBand, SparseList

OUTER = [
    name for name, level in hub().levels.items()
    if getattr(getattr(level, "structure", None), "single", False)
]  # fmt: skip
ROW = np.array([[0.0, 0, 0], [-3, 0, 2], [0, 0, 0]])


def test_some_levels_hold_one():
    assert {"SparsePinpoint", "SparseBand"} <= set(OUTER)


@pytest.mark.parametrize("inner", [Dense, SparseList, SparseBand])
@pytest.mark.parametrize("outer", OUTER)
def test_a_cumulative_sum_along_the_last_axis(outer, inner):
    A = Tensor(hub().levels[outer](inner(Element(0.0))), ROW)
    for axis in (0, 1):
        same(fa.cumulative_sum(A, axis=axis), ROW.cumsum(axis))
        same(fa.cumulative_sum(A.T, axis=axis), ROW.T.cumsum(axis))


def test_rows_that_store_nothing_are_not_visited():
    """Of 2^80 rows two are stored: a loop over all of them would not end."""
    places = np.array([3, 10**9]), np.array([7, 2**40 - 1]), np.array([1, 3])
    A = fa.from_coo(places, np.array([2.0, 5.0]), (2**40, 2**40, 5))
    for axis, length in ((2, 4), (0, 1)):
        found = fa.cumulative_sum(A, axis=axis)
        assert found.shape == A.shape
        assert found.nnz <= 2 * (length + 1)
    assert list(fa.cumulative_sum(A, axis=2)[3, 7].to_numpy()) == [0, 2, 2, 2, 2]


@pytest.mark.parametrize("outer", ["SparseList", "RunList", "SparseHash"])
@pytest.mark.parametrize("last", ["SparseList", "SparseBlockList"])
def test_fibers_of_several_levels(outer, last):
    levels, rng = hub().levels, np.random.default_rng(3)
    a = (rng.random((3, 4, 5)) < 0.4) * rng.integers(1, 5, (3, 4, 5)).astype(float)
    for first in ("Dense", "SparseList"):
        A = Tensor(levels[first](levels[outer](levels[last](Element(0.0)))), a)
        for axis in range(3):
            found = fa.cumulative_sum(A, axis=axis)
            same(found, a.cumsum(axis))
            same(found + A, a.cumsum(axis) + a)
            same(fa.cumulative_sum(A.T, axis=axis), a.T.cumsum(axis))
    same(A, a)


@pytest.mark.parametrize("level", ["SparseHash", "SparseCOO"])
def test_rows_of_hash_tables_and_coordinates_are_not_visited(level):
    levels, n = hub().levels, 10**11
    made = levels[level]
    A = fa.from_coo(([3, n - 1], [7, 1]), [2.0, 5.0], (n, n)).to(made(made(Element(0.0))))
    found = fa.cumulative_sum(A, axis=1)
    assert found.nnz <= 4
    assert (found[3, 6], found[3, 7], found[3, n - 1], found[n - 1, 8]) == (0, 2, 2, 5)
