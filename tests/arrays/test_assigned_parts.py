"""Sparse values assigned at arrays of indices and masks: in memory for what is stored."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from array_support import MATRICES, fa, held, tensor

from finch_array import assignment
from finch_core.runtime import worth

N = 3000
PARTS = {
    "rows": (np.array([4, 0, 4, 2]),),
    "columns": (slice(None), np.array([1, 5, 1])),
    "rows of a slice": (np.array([5, 1]), slice(6, 0, -2)),
    "mesh": np.ix_([0, 3, 0], [5, 2]),
    "places": (np.array([[0, 5], [2, 0]]), np.array([[6, 1], [1, 6]])),
    "a row and columns": (2, np.array([0, 3, 3])),
    "a mask of rows": (np.array([True, False, True, True, False, False]),),
    "a new dimension": (np.array([1, 2]), None, slice(2, 5)),
    "none": (np.array([], int),),
}


@pytest.mark.parametrize("kind", [k for k in MATRICES if k != "dense"])
@pytest.mark.parametrize("part", PARTS)
def test_parts_are_those_of_numpy(part, kind):
    index, levels = PARTS[part], MATRICES[kind]
    rng = np.random.default_rng(3)
    start = held(np.where(rng.random((6, 7)) < 0.5, rng.integers(1, 9, (6, 7)), 0.0), levels)
    shape = start[index].shape
    for whole in (shape, shape[1:], (1, *shape[1:])):
        for value in (np.where(rng.random(whole) < 0.4, 2.0, 0.0), np.zeros(whole)):
            wanted, array = start.copy(), tensor(start, levels)
            wanted[index] = value
            if (held(wanted, levels) != wanted).any():
                continue
            places = np.nonzero(np.atleast_1d(value))
            given = fa.from_coo(places, np.atleast_1d(value)[places], value.shape or (1,))
            array[index] = given if value.ndim else fa.reshape(given, ())
            np.testing.assert_array_equal(array.to_numpy(), wanted)
    wanted, array = start.copy(), tensor(start, levels)
    wanted[index] = 0
    if (held(wanted, levels) == wanted).all():
        array[index] = 0
        np.testing.assert_array_equal(array.to_numpy(), wanted)


def large():
    return fa.random((N, N), 2e-3, rng=0, format=tensor(np.zeros((1, 1)), MATRICES["rows"]).format)


def test_few_elements_of_many_are_merged_by_a_kernel(monkeypatch):
    """All that the array stores would be sorted else."""
    monkeypatch.setattr(worth, "WORTH", -1)
    monkeypatch.setattr(assignment, "scattered", None)
    A = large()
    rows = np.array([3, 5, 3])
    wanted, value = A.to_numpy().copy(), A[np.array([7, 8, 9])]
    wanted[rows] = value.to_numpy()
    A[rows] = value
    np.testing.assert_array_equal(A.to_numpy(), wanted)


ROWS = np.arange(0, N, 3)
ASSIGNED = {
    "rows": lambda A: (ROWS, A[ROWS] * 2),
    "columns": lambda A: ((slice(None), ROWS), A[:, ROWS] * 2),
    "rows by a mask": lambda A: (np.arange(N) % 3 == 0, A[ROWS] * 2),
    "a mesh": lambda A: (np.ix_(ROWS, ROWS), A[ROWS][:, ROWS] * 2),
    "where less": lambda A: (A < 0.5, 0.0),
    "where small": lambda A: (abs(A) < 0.1, 0.0),
}


@pytest.mark.parametrize("name", ASSIGNED)
def test_the_memory_is_that_of_what_is_stored(name):
    """Of an array of 72 MB that stores 18,000 elements."""
    A = large()
    index, value = ASSIGNED[name](A)
    wanted = A.to_numpy().copy()
    plain = index.to_numpy() if hasattr(index, "to_numpy") else index
    wanted[plain] = value.to_numpy() if hasattr(value, "to_numpy") else value
    for _time in range(3):
        B = A.copy()
        tracemalloc.start()
        B[index] = value
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 9e6
        np.testing.assert_array_equal(B.to_numpy(), wanted)
