"""Histograms and distinct elements are NumPy's, from what is stored."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, held, tensor

from finch_array import searching

CALLS = [
    np.histogram, lambda x: np.histogram(x, 5, (0, 3)), lambda x: np.histogram(x, [0, 1, 2.5]),
    lambda x: np.histogram(x, 4, density=True), lambda x: np.histogram(x, [1, 2, 3], density=True),
    lambda x: np.histogram(x, np.int64(3), (-1, 9)), lambda x: (np.unique(x),),
    lambda x: np.unique(x, return_counts=True),
    lambda x: np.unique(x, return_counts=True, equal_nan=False),
]  # fmt: skip


def equal(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16])
@pytest.mark.parametrize("fill", [0, 2])
def test_they_are_those_of_numpy(kind, dtype, fill):
    a = held(data((6, 9), dtype, fill), MATRICES[kind], fill)
    A = tensor(a, MATRICES[kind], fill)
    for call in CALLS:
        equal(call(A), call(a))
        equal(call(A.T), call(a.T))


@pytest.mark.parametrize("fill", [0, np.nan])
@pytest.mark.parametrize("kind", ["rows", "hashes", "runs"])
def test_of_nan(kind, fill):
    a = data((6, 9), fill=fill)
    a[2:4, 3] = np.nan
    A = tensor(a, MATRICES[kind], fill)
    for call in CALLS[-3:]:
        equal(call(A), call(a))
    equal(np.histogram(A, 5, (0, 3)), np.histogram(a, 5, (0, 3)))
    with pytest.raises(ValueError, match=r"autodetected range of \[nan, nan\] is not finite"):
        np.histogram(A)


def test_a_histogram_sorts_nothing(monkeypatch):
    a = data((40, 30))
    monkeypatch.setattr(searching, "unique_counts", None)
    for kind in ("rows", "hashes", "dense"):
        equal(np.histogram(tensor(a, MATRICES[kind])), np.histogram(a))


def test_what_is_not_stored_is_counted():
    A = fa.from_coo(([5, 10**11], [0, 1]), np.array([3.0, 7.0]), (10**12, 3))
    found, edges = np.histogram(A, 7)
    assert found.tolist() == [3 * 10**12 - 2, 0, 0, 1, 0, 0, 1]
    assert edges[-1] == 7.0


@pytest.mark.parametrize(
    "levels",
    [
        ("Dense", "SparseList"), ("SparseList", "SparseList"), ("SparseCOO", "SparseCOO"),
        ("Dense", "Dense", "SparseList"), ("Dense", "SparseList", "SparseList"), ("SparseList",),
        ("Dense", "SparseCOO", "SparseCOO"), ("SparseHash", "SparseList"), ("SparseCOO",),
    ],
)  # fmt: skip
@pytest.mark.parametrize("fill", [0, 2])
def test_few_and_many_elements_are_chosen(levels, fill):
    a = data((40, 30, 4)[: len(levels)], fill=fill, seed=3)
    a[3:9] = fill
    a[11, ...] = 7.0
    A = tensor(a, levels, fill)
    for wanted in ([7.0], [8.0], [1.0, 3.0], [2.0], [0.0, 7.0]):
        for invert in (False, True):
            found = fa.isin(A, fa.asarray(wanted), invert=invert)
            np.testing.assert_array_equal(found, np.isin(a, wanted, invert=invert))
            np.testing.assert_array_equal(np.isin(A.T, wanted), np.isin(a.T, wanted))


def test_indices_of_few_chosen_elements_are_found_alone(monkeypatch):
    a = data((40, 30))
    a[5, 5], a[11, 2] = 7.0, 7.0
    A = tensor(a, MATRICES["rows"])
    with monkeypatch.context() as context:
        context.setattr("finch_core.runtime.lists.coordinates_of_lists", None)
        found = fa.isin(A, fa.asarray([7.0, 9.0]))
    np.testing.assert_array_equal(found, a == 7.0)
