"""``np.insert`` and ``np.delete`` of arrays of all kinds: what NumPy gives, in time for what is
stored."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, tensor

from finch_array import insertions, manipulation
from finch_core import DimensionMismatch, OutOfBounds, PerformanceWarning
from finch_core.errors import OutOfMemory
from finch_levels import Element, RunList, SparseBlockList, SparseList, SparseRunList


def places(n):
    return [
        0, n, -1, n // 2, [0], [0, n], [n, 0, 0], [1, 1], slice(0, n, 2), slice(None, None, -1),
        np.arange(n) % 2 == 0, np.zeros(n, bool), [], [-n, n - 1],
    ]  # fmt: skip


CASES = [(kind, fill) for kind in MATRICES for fill in (0.0, 2.5)]


@pytest.mark.parametrize(("kind", "fill"), CASES)
def test_rows_columns_and_elements(kind, fill):
    a = data((4, 3), fill=fill, seed=1)
    A = tensor(a, MATRICES[kind], fill)
    for axis, n in ((0, 4), (-1, 3), (None, 12)):
        for at in places(n):
            for values in (7, 0, fill, [1, 2], np.arange(3.0), np.ones((2, 3))):
                try:
                    wanted = np.insert(a, at, values, axis)
                except (ValueError, IndexError):
                    continue
                found = np.insert(A, at, values, axis)
                np.testing.assert_array_equal(found.to_numpy(), wanted)
                assert found.fill_value == fill or kind == "dense"
            try:
                wanted = np.delete(a, at, axis)
            except (ValueError, IndexError):
                continue
            np.testing.assert_array_equal(np.delete(A, at, axis).to_numpy(), wanted)


@pytest.mark.parametrize("kind", [k for k in MATRICES if k != "dense"])
def test_long_dimensions_move_by_stretches(kind, monkeypatch):
    monkeypatch.setattr(insertions, "LONG", 0)
    monkeypatch.setattr(manipulation, "LONG", 0)
    a = data((4, 3), seed=1)
    A = tensor(a, MATRICES[kind])
    for axis, n in ((0, 4), (1, 3)):
        for at in places(n):
            wanted = np.insert(a, at, 7, axis)
            np.testing.assert_array_equal(np.insert(A, at, 7, axis).to_numpy(), wanted)
            if at is not n and n not in np.atleast_1d(np.asarray(at, object)):
                found = np.delete(A, at, axis)
                np.testing.assert_array_equal(found.to_numpy(), np.delete(a, at, axis))
        for count in (0, 1, 3):
            for x, y in ((A, a), (A.T, a.T)):
                found = np.repeat(x, count, axis=axis)
                np.testing.assert_array_equal(found.to_numpy(), np.repeat(y, count, axis))


@pytest.mark.parametrize("level", [SparseBlockList, SparseRunList, RunList, SparseList])
def test_of_a_dimension_of_10_to_the_11(level):
    n = 10**11
    A = fa.from_coo(([3, n - 1], [0, 2]), [1.0, 3.0], (n, n)).to(level(level(Element(0.0))))
    less = np.delete(A, [1, 5, -2], axis=0)
    assert (less.shape, less[2, 0], less[n - 4, 2]) == ((n - 3, n), 1, 3)
    more = np.insert(A, [5, 0], 0, axis=0)
    assert (more.shape, more[4, 0], more[n + 1, 2]) == ((n + 2, n), 1, 3)
    column = np.take_along_axis(A, np.array([[2, 0]]), axis=1)
    assert (column.shape, column[3, 1], column[n - 1, 0]) == ((n, 2), 1, 3)
    if level is RunList:  # whose outer runs are taken apart
        return
    twice = np.repeat(A, 2, axis=1)
    assert (twice.shape, twice[3, 1], twice[n - 1, 4]) == ((n, 2 * n), 1, 3)


def test_no_memory_for_the_index_of_each_element():
    n = 10**11
    A = fa.from_coo(([3, n - 1], [0, 2]), [1.0, 3.0], (n, n))
    A = A.to(SparseRunList(SparseRunList(Element(0.0))))
    with pytest.raises(OutOfMemory, match=r"no memory for the indices of shape \(100000000000,\)"):
        np.delete(A, np.arange(0, 100, 2), axis=0)
    with pytest.raises(OutOfMemory, match="no memory for the indices"):
        np.repeat(A, 2, axis=0)


def test_places_that_there_are_not():
    A = tensor(data((4, 3)), MATRICES["rows"])
    for function, more in ((np.insert, (1,)), (np.delete, ())):
        with pytest.raises(OutOfBounds, match="index 9 is out of bounds for a dimension of size 4"):
            function(A, [1, 9], *more, axis=0)
        with pytest.raises(IndexError, match="not float64"):
            function(A, 2.5, *more, axis=0)
        with pytest.raises(ValueError, match=r"a mask of shape \(3,\) for a dimension of size 4"):
            function(A, np.ones(3, bool), *more, axis=0)


def test_of_a_dimension_of_2_to_the_40():
    n = 2**40
    H = fa.from_coo((np.array([3, 20, n - 1]), np.array([3, 7, n - 1])), np.arange(1.0, 4), (n, n))
    x = fa.from_coo((np.array([5]),), np.ones(1), (n,))
    more = np.insert(H, [4, 20], x, axis=0)
    assert (more.shape, more.nstored) == ((n + 2, n), 5)
    assert [more[3, 3], more[4, 5], more[21, 5], more[22, 7], more[n + 1, n - 1]] == [1, 1, 1, 2, 3]
    less = np.delete(H, [0, 20, -1], axis=0)
    assert (less.shape, less.nstored, less[2, 3]) == ((n - 3, n), 1, 1)


N = 10**9


def large():
    return fa.from_coo(([5, N // 2], [7, 3]), [1.0, 2.0], (N, N))


def test_inserted_values_equal_to_the_fill_are_not_stored():
    A, few = large(), np.zeros(N // 1000)
    few[[3, 8]] = 4
    B = fa.from_coo(([5], [7]), [1.0], (10, len(few)))
    for found in (np.insert(A, 3, 0, axis=0), np.insert(A, [3, 4], 0, axis=1)):
        assert found.nstored == 2
    assert np.insert(B, [2, 3], few, axis=0).nstored == 5
    fills = tensor(np.full((4, 3), 2.5), MATRICES["rows"])
    assert np.insert(fills, 1, 0, axis=0).nstored == 12


def no_memory(*_):
    raise MemoryError


def test_many_values_are_inserted_with_a_warning(monkeypatch):
    n = 2 * 10**7
    A = fa.from_coo(([5, n // 2], [7, 3]), [1.0, 2.0], (n, n))
    monkeypatch.setattr(np, "unravel_index", no_memory)
    with (
        pytest.raises(OutOfMemory, match="no memory for an inserted part of shape"),
        pytest.warns(PerformanceWarning, match="insert stores 20000000 more elements, 458 MiB"),
    ):
        np.insert(A, 3, 7, axis=0)


def test_values_of_another_shape_are_not_inserted():
    A = tensor(data((4, 3)), MATRICES["rows"])
    for wrong in ([1, 2], np.ones((2, 2, 2))):
        with pytest.raises(DimensionMismatch, match="broadcast"):
            np.insert(A, [0, 1], wrong, axis=0)


def test_a_number_between_runs_is_a_run():
    runs = tensor(np.repeat(np.arange(4.0), 3).reshape(2, 6), ("RunList", "RunList"))
    found = np.insert(runs, 1, 7, axis=0)
    assert found.format == runs.format
    np.testing.assert_array_equal(found.to_numpy(), np.insert(runs.to_numpy(), 1, 7, axis=0))


def test_a_row_is_repeated_between_runs_with_a_warning():
    runs = tensor(np.zeros((2, 5000)), ("RunList", "RunList"))
    with pytest.warns(PerformanceWarning, match=r"insert is dense: \(5000, 5000\), 191 MiB"):
        found = np.insert(runs, np.ones(5000, int), np.arange(5000.0), axis=0)
    assert found[1, 7] == 7
