"""Masks that have no sizes as indices, read and assigned: those of NumPy within the shape."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from array_support import MATRICES, data, fa, tensor

from finch_core import OutOfBounds
from finch_levels import Dense, Element, RunList, SparseCOO, SparseList
from finch_wrappers import DiagMask, LoTriMask, UpTriMask

MASKS = {"lower": LoTriMask(), "upper": UpTriMask(), "diagonal": DiagMask()}
WHOLE = slice(None)
OF_RANK_3 = {
    "first": lambda m: m,
    "behind a slice": lambda m: (WHOLE, m),
    "behind dots": lambda m: (..., m),
    "before a number": lambda m: (m, 1),
    "before a slice": lambda m: (m, slice(0, 2)),
    "behind a number": lambda m: (0, m),
    "before dots": lambda m: (m, ...),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("kind", MATRICES)
def test_matrices_at_a_mask(mask, kind):
    for shape in ((4, 5), (1, 1), (3, 0)):
        a, chosen = data(shape), MASKS[mask].to_numpy(shape)
        A = tensor(a, MATRICES[kind])
        np.testing.assert_array_equal(np.asarray(A[MASKS[mask]]), a[chosen])
        for value in (0.0, 3.0, np.arange(float(chosen.sum()))):
            if kind == "bands" and np.ndim(value):
                continue  # not each result is one band
            B, b = A.copy(), a.copy()
            B[MASKS[mask]] = value
            b[chosen] = value
            np.testing.assert_array_equal(B.to_numpy(), b)
            assert B.format == A.format


@pytest.mark.parametrize("where", OF_RANK_3)
def test_some_dimensions_at_a_mask(where):
    index, shape = OF_RANK_3[where], (2, 3, 3)
    low = LoTriMask()
    size = shape[1:] if where in ("behind a slice", "behind dots", "behind a number") else (2, 3)
    a = data(shape)
    for format in (
        SparseList(SparseList(SparseList(Element(0.0)))),
        Dense(Dense(RunList(Element(0.0)))),
    ):
        A = fa.asarray(a).to(format)
        theirs = index(low.to_numpy(size))
        np.testing.assert_array_equal(np.asarray(A[index(low)]), a[theirs])
        b = a.copy()
        A[index(low)], b[theirs] = 5, 5
        np.testing.assert_array_equal(A.to_numpy(), b)


def test_a_mask_of_more_dimensions_than_the_array_is_refused():
    v, A = fa.asarray(np.arange(3.0)), fa.asarray(np.eye(3))
    for array, index in ((v, LoTriMask()), (A, (LoTriMask(), 1))):
        with pytest.raises(OutOfBounds, match="indices for an array of"):
            array[index]
        with pytest.raises(OutOfBounds, match="indices for an array of"):
            array[index] = 1


@pytest.mark.parametrize("outer", [Dense, SparseList])
def test_zeros_where_a_mask_is_true_take_no_memory(outer):
    """Of a matrix of 10^8 elements, or 2^82."""
    n = 10**4 if outer is Dense else 2**41
    rows, columns = np.array([3, 5, n - 1, n - 2]), np.array([7, 5, 2, n - 2])
    A = fa.from_coo((rows, columns), np.ones(4), (n, n)).to(outer(SparseList(Element(0.0))))
    tracemalloc.start()
    A[DiagMask()] = 0
    assert (A.nstored, A[3, 7], A[5, 5], A[n - 1, 2]) == (2, 1, 0, 1)
    A[LoTriMask()] = 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (A.nstored, A[3, 7]) == (1, 1)
    assert peak < 10**7


def test_coordinates_with_another_fill():
    A = tensor(data((4, 4), fill=2.5), ("SparseCOO", "SparseCOO"), 2.5)
    a = A.to_numpy()
    A[LoTriMask()] = 2.5
    a[LoTriMask().to_numpy((4, 4))] = 2.5
    np.testing.assert_array_equal(A.to_numpy(), a)
    assert A.format == SparseCOO(SparseCOO(Element(2.5)))
