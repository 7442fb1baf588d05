"""Indexing and assignment are NumPy's, on every format."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, held, same, tensor

from finch_array import indexing, orders, taking
from finch_core import DimensionMismatch, FormatError
from finch_core.errors import OutOfBounds
from finch_core.runtime import worth
from finch_levels import Dense, Element, SparseByteMap, SparseHash, SparseList, SparsePinpoint
from finch_wrappers import LoTriMask

INDICES = [
    np.s_[2], np.s_[1:3], np.s_[:, 2], np.s_[::2], np.s_[::-1, 1:5:2], np.s_[None, 2:4, ..., None],
    np.s_[..., 3], np.s_[[1, 2, 4]], np.s_[[1, 2], [3, 4]], np.s_[:, [1, 1]], np.s_[2, 3],
    np.s_[-1], np.s_[3:1], np.s_[[[0, 1], [2, 3]], 1:3], np.s_[np.array([True, False] * 3)],
    np.s_[-1::-2, None, [3, 2]], np.s_[1, :, None], np.s_[()], np.s_[:, np.array([], int)],
    np.s_[2, [0, 1]], np.s_[np.array(1), 2:], np.s_[-2:, -3],
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("kind", MATRICES)
def test_parts_are_read_and_assigned(kind, index):
    a = held(data((6, 7), seed=1), MATRICES[kind])
    A = tensor(a, MATRICES[kind])
    same(A[index], a[index])
    for value in (5, data(np.shape(a[index]), seed=2), np.float64(0)):
        b, B = a.copy(), A.copy()
        b[index] = value
        B[index] = value
        same(B, b)
        assert B.format == A.format
    same(A, a)


@pytest.mark.parametrize(
    "index", [np.s_[0, None], np.s_[-1, None, :], np.s_[:, None], np.s_[None, 0]]
)
def test_an_integer_drops_a_dimension_of_one_beside_a_new_one(index):
    a = data((1, 4), seed=1)
    same(tensor(a, MATRICES["rows"])[index], a[index])


@pytest.mark.parametrize("kind", MATRICES)
def test_sparse_values_of_slices(kind):
    a = held(data((6, 7), seed=1), MATRICES[kind])
    for index in (np.s_[1:5], np.s_[::-2, 3], np.s_[4, 6:0:-1], np.s_[3:3], np.s_[...]):
        for value in (a[index] * 2, a[index] * 0):
            b, B = a.copy(), tensor(a, MATRICES[kind])
            b[index] = value
            B[index] = fa.asarray(value, format=fa.random(value.shape, 0.1).format)
            same(B, b)


def test_slices_of_long_arrays_cost_what_is_stored():
    n = 10**12
    v = fa.from_coo((np.array([0, 5, n - 1]),), np.array([1.0, 2.0, 3.0]), (n,))
    v[n // 2 : n // 2 + 3] = 7.0
    v[5:8] = 0.0
    v[:] = v * 2
    v[::2] = fa.from_coo((np.array([1]),), np.array([4.0]), (n // 2,))
    assert [float(v[k]) for k in (0, 2, 5, n // 2 + 1, n - 1)] == [0, 4, 0, 14, 6]
    assert v.nnz == 3


@pytest.mark.parametrize("kind", MATRICES)
def test_stored_fills_are_not_assigned(kind):
    a = held(data((6, 5)), MATRICES[kind])
    A, entries = tensor(a, MATRICES[kind]), np.array([0.0, 2, 0, 3])
    part = fa.from_coo(np.array([[0, 0, 1, 2], [0, 1, 1, 2]]), entries, (3, 3))
    A[1:4, ::2] = part
    a[1:4, ::2] = [[0, 2, 0], [0, 0, 0], [0, 0, 3]]
    same(A, a)
    if kind in ("rows", "lists", "hashes"):
        assert A.nnz == np.count_nonzero(a)


def test_the_only_element_is_assigned():
    for value in (5.0, fa.asarray(5.0), np.array(5.0)):
        only = fa.sum(fa.eye(3))
        only[()] = value
        assert only == 5.0


@pytest.mark.parametrize("kind", MATRICES)
def test_masks(kind):
    a = held(data((6, 7), seed=3), MATRICES[kind])
    A = tensor(a, MATRICES[kind])
    same(A[A > 1], a[a > 1])
    same(A[a == 0], a[a == 0])
    A[A > 2] = -1
    same(A, np.where(a > 2, -1, a))
    A[A == -1] = np.arange(np.sum(a > 2))
    b = np.where(a > 2, -1, a)
    b[b == -1] = np.arange(np.sum(a > 2))
    same(A, b)


def test_views_of_permuted_arrays_take_assignments():
    a = data((3, 4))
    A = tensor(a, MATRICES["rows"])
    A.T[1, 2] = 9
    b = a.copy()
    b.T[1, 2] = 9
    same(A, b)
    dense = fa.asarray(a.copy())
    dense.T[0] = 1
    assert (dense.to_numpy()[:, 0] == 1).all()


def test_slices_with_other_bounds_need_no_new_kernel():
    from finch_array.run import _plans

    A = tensor(data((30, 4)), MATRICES["rows"])
    A[1:5]
    before = len(_plans)
    for k in range(2, 20):
        A[k : k + 5]
    assert len(_plans) == before


def test_mistakes():
    A = tensor(data((3, 4)), MATRICES["rows"])
    with pytest.raises(OutOfBounds, match="index 3 is out of bounds for dimension 0 of size 3"):
        A[3]
    with pytest.raises(IndexError):
        A[0, 0, 0]
    with pytest.raises(FormatError, match="not float64"):
        A[np.array([1.5])]
    with pytest.raises(OutOfBounds, match="mask of shape"):
        A[np.array([True, False])]
    with pytest.raises(DimensionMismatch, match="does not fit a part of shape"):
        A[0] = np.ones(3)
    with pytest.raises(TypeError):
        A[0] = 1j
    with pytest.raises(IndexError):
        A[..., ...]


def test_take():
    a = data((3, 4))
    A = tensor(a, MATRICES["rows"])
    same(fa.take(A, [2, 0], axis=1), np.take(a, [2, 0], 1))
    order = np.argsort(a, axis=1)
    same(fa.take_along_axis(A, order, axis=1), np.take_along_axis(a, order, 1))


@pytest.mark.parametrize("chosen", [[0, 0, 0], [2, 0], [1] * 40, []], ids=len)
@pytest.mark.parametrize("outer", [Dense, SparseHash, SparsePinpoint, SparseList])
@pytest.mark.parametrize("inner", [SparseHash, SparsePinpoint, SparseByteMap])
def test_subarrays_along_a_dimension_between_others(outer, inner, chosen):
    """They are no single elements, which alone are scattered to where they are wanted."""
    a = np.zeros((4, 3, 5))
    a[1, 2] = [0, 1, 0, 2, 0]
    A = fa.asarray(a, format=outer(inner(SparseList(Element(0.0)))))
    same(fa.take(A, np.array(chosen, int), axis=1), np.take(a, np.array(chosen, int), 1))


VECTORS = {
    "some": [2, 0], "often": [1, 4, 1, 1, 0, 4], "from the end": [-1, -6, 3, -1], "one": [5],
    "none": [], "all": [3, 5, 0, 1, 4, 2], "many": [0, 5, 3] * 40,
}  # fmt: skip


@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("dtype", [np.float64, np.int16, np.complex64, np.bool_])
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("backend", ["c", "interpreter"])
def test_vectors_of_indices_by_kernels_and_by_coordinates(
    backend, kind, dtype, vector, monkeypatch
):
    """Many elements are found by kernels, and few in NumPy; the formats are the same. The
    interpreter checks each access."""
    monkeypatch.setenv("FINCH_BACKEND", backend)
    a = data((6, 6), dtype, seed=5)
    A = tensor(a, MATRICES[kind])
    p = np.array(VECTORS[vector], int)
    pairs = (p[::-1], p), (p, p), (p.astype(np.int8), p), (p.reshape(-1, 1), p[:1])
    indices = [(slice(None), p), (p, slice(None)), p, *pairs]
    few = [A[index] for index in indices]
    monkeypatch.setattr(worth, "WORTH", -1)
    monkeypatch.setattr(indexing, "compiles", lambda: True)
    for index, other in zip(indices, few, strict=True):
        for _ in range(2):  # the second is a call that is known
            same(A[index], a[index])
            assert getattr(A[index], "format", None) == getattr(other, "format", None)


@pytest.mark.parametrize("backend", ["c", "interpreter"])
def test_vectors_of_indices_of_deep_and_turned_arrays(backend, monkeypatch):
    monkeypatch.setenv("FINCH_BACKEND", backend)
    monkeypatch.setattr(worth, "WORTH", -1)
    monkeypatch.setattr(indexing, "compiles", lambda: True)
    a = data((3, 4, 5), seed=2)
    p, q = np.array([4, 0, 0, -2]), np.array([1, -3, 0, 2])
    for levels in (("Dense", "Dense", "SparseList"), ("SparseCOO", "SparseCOO", "SparseCOO")):
        A = tensor(a, levels)
        same(A[:, :, p], a[:, :, p])
        same(A[q, q, p], a[q, q, p])
        same(fa.permute_dims(A, (2, 0, 1))[p, q], np.transpose(a, (2, 0, 1))[p, q])
        same(fa.permute_dims(A, (2, 0, 1))[p, q, q], np.transpose(a, (2, 0, 1))[p, q, q])
        same(fa.permute_dims(A, (2, 0, 1))[p], np.transpose(a, (2, 0, 1))[p])
        same(A[1:][:, :, p[:0]], a[1:][:, :, p[:0]])


def test_vectors_of_indices_are_looked_at_again_in_each_call():
    """Vectors of the same length are one kernel, and are checked each time."""
    a = data((6, 6))
    A = tensor(a, MATRICES["rows"])
    p = np.array([0, 2, 5])
    for _ in range(3):
        same(A[:, p], a[:, p])
        same(A[p, p], a[p, p])
        p = p.copy()
    p[1] = 6
    for index in ((slice(None), p), (p, p), p):
        with pytest.raises(OutOfBounds, match="index 6 is out of bounds"):
            A[index]
    p[1] = -7
    with pytest.raises(OutOfBounds, match="index -7 is out of bounds"):
        A[p, p]
    same(A[:, p[:0]], a[:, p[:0]])


def test_a_column_of_a_matrix_with_few_entries_is_cut_out_in_its_order():
    """A copy in another order, which walks the column itself, seemed cheaper than its rows."""
    n = 24_000
    rows, columns = np.array([3, 17, 20_000]), np.array([0, 5, 0])
    A = fa.from_coo((rows, columns), np.array([1.0, 2.0, 3.0]), (n, 40_000))
    for cut in (A[:, 0:1], A[: n // 2, 0:1], A.T[0:1]):
        assert cut.nnz == int((columns[rows < max(cut.shape)] == 0).sum())
    assert fa.roll(A, 1, axis=1)[3, 1] == 1.0


def test_what_is_not_copied_is_walked_in_the_order_of_its_storage():
    term = orders.Term(("i", "j"), (24_000.0, 1e-3), True, 1.0, True)
    sizes = {"i": 24_000, "j": 1}
    assert orders.choose([term], sizes, ("i", "j"), False).copied == (0,)
    alone = orders.choose([term], sizes, ("i", "j"), False, copying=False)
    assert (alone.loops, alone.copied) == (("i", "j"), ())


def test_elements_of_huge_arrays_are_assigned():
    """They are found by their coordinates: no number tells two elements of such an array apart."""
    n = 2**40
    for level in (SparseHash, SparseList):
        A = fa.zeros((n, n), format=level(level(Element(0.0))))
        A[n - 1, 5], A[3, -2], A[3:5, 7:9] = 3.0, 1.0, 2.0
        A[n - 1, 5] += 1
        A[4, 8], A[3, -2] = 0.0, 6.0
        assert A.nnz == 5
        assert [A[n - 1, 5], A[3, n - 2], A[3, 7], A[4, 7], A[3, 8], A[4, 8]] == [4, 6, 2, 2, 2, 0]


def test_boxes_of_one_number():
    for dtype, value in (
        (np.float32, 1e-60),
        (np.int8, 3),
        (np.complex64, 2),
        (np.float64, np.nan),
    ):
        for index in ((1, 2), (slice(1, 3), slice(None, None, -2)), (slice(2, 2), 1), (0, ...)):
            a = data((3, 4), dtype, seed=4)
            A = tensor(a, MATRICES["rows"])
            A[index] = value
            a[index] = value
            same(A, a)


@pytest.mark.parametrize("kind", MATRICES)
def test_masks_without_sizes_have_the_shape_of_the_array(kind):
    a = data((4, 5), seed=3)
    A, D = tensor(a, MATRICES[kind]), fa.asarray(a)
    mask = LoTriMask()
    lower = np.tri(4, 5, dtype=bool)
    for array in (A, D):
        same(array[mask], a[lower])
    if kind in ("rows", "lists", "hashes"):
        A[mask], a[lower] = 7, 7
        same(A, a)
    D[mask] = 7
    same(D[mask], np.full(lower.sum(), 7.0))


@pytest.mark.parametrize("kind", ["runs", "blocks", "bands"])
def test_columns_of_torn_pieces(kind, monkeypatch):
    """Where each row would be searched for each column, single elements are taken instead."""
    for name in ("TORN", "PER_ELEMENT"):
        monkeypatch.setattr(taking, name, 0)
    calls, chosen_of = [], taking._chosen

    def counted(*args):
        calls.append(args)
        return chosen_of(*args)

    monkeypatch.setattr(taking, "_chosen", counted)
    a = held(data((4, 5), seed=3), MATRICES[kind])
    A = tensor(a, MATRICES[kind])
    for vector in ([4, 0, 2, 2], [1, 3], [], [4, 3, 2, 1, 0]):
        chosen = np.array(vector, int)
        try:
            found = A[:, chosen]
        except FormatError:  # a band of what is none any more
            assert kind == "bands"
            continue
        same(found, a[:, chosen])
        same(found + 1, a[:, chosen] + 1)
    assert len(calls) >= 3  # of no columns nothing is looked for
