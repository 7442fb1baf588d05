"""Arrays of single elements are joined, cut and repeated by kernels where there are many, else by
their coordinates: both give the same elements in the same format."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from array_support import data, fa, same, tensor

from finch_array import joining, listed, programs, written_plans
from finch_array.operands import stored
from finch_core import Tensor
from finch_core.errors import IndexOverflow
from finch_core.runtime import worth
from finch_core.runtime.validation import validate
from finch_levels import Dense, Element, SparseList

FORMATS = {
    "rows": ("Dense", "SparseList"), "lists": ("SparseList", "SparseList"),
    "coordinates": ("SparseCOO", "SparseCOO"), "byte maps": ("Dense", "SparseByteMap"),
    "hashes": ("SparseHash", "SparseHash"), "pinpoints": ("Dense", "SparsePinpoint"),
    "hashes of bytes": ("SparseHash", "SparseByteMap"), "bands": ("Dense", "SparseBand"),
    "runs": ("Dense", "RunList"), "blocks": ("SparseList", "SparseBlockList"),
}  # fmt: skip
PICKS = np.array([3, -1, 0, 0, 2, 3])


def made_of(name, shape, dtype=np.float64, fill=0, seed=0):
    """An array in a format, and NumPy's."""
    levels = FORMATS[name]
    a = data(shape, dtype, fill, seed)
    if name == "coordinates":
        from finch_levels import SparseCOO

        format = SparseCOO(SparseCOO(Element(np.dtype(dtype).type(fill))))
        return Tensor(format, a), a
    if name == "pinpoints":
        a = np.where(np.arange(shape[1]) == np.arange(shape[0])[:, None] % 3, a, fill).astype(dtype)
    return tensor(a, levels, np.dtype(dtype).type(fill)), a


FUNCTIONS = {
    "rows": lambda p, A, B: A[PICKS % A.shape[0]] if A.shape[0] else A[PICKS[:0]],
    "columns": lambda p, A, B: A[:, PICKS % A.shape[1]] if A.shape[1] else A[:, PICKS[:0]],
    "no rows": lambda p, A, B: A[PICKS[:0]],
    "no columns": lambda p, A, B: A[:, PICKS[:0]],
    "rows of a transpose": lambda p, A, B: A.T[PICKS % A.shape[1]] if A.shape[1] else A.T[:0],
    "rows and a slice": lambda p, A, B: A[PICKS % A.shape[0], ::2] if A.shape[0] else A[:, ::2],
    "repeat": lambda p, A, B: p.repeat(A, 2, axis=0),
    "repeat columns": lambda p, A, B: p.repeat(A, 3, axis=1),
    "repeat none": lambda p, A, B: p.repeat(A, 0, axis=1),
    "repeat each": lambda p, A, B: p.repeat(A, np.arange(A.shape[1]) % 3, axis=1),
    "concat": lambda p, A, B: p.concat([A, B, A], axis=0),
    "concat columns": lambda p, A, B: p.concat([A, B], axis=1),
    "concat five": lambda p, A, B: p.concat([A, B, A, A, B], axis=1),
    "concat transposes": lambda p, A, B: p.concat([A.T, B.T], axis=0),
    "concat one": lambda p, A, B: p.concat([A], axis=1),
    "concat of two orders": lambda p, A, B: p.concat([A, B.T[:1].T], axis=1) if A.shape[1] else A,
    "stack": lambda p, A, B: p.stack([A, B]),
    "stack between": lambda p, A, B: p.stack([A, B, B], axis=1),
    "stack last": lambda p, A, B: p.stack([A, B], axis=-1),
    "stack transposes": lambda p, A, B: p.stack([A.T, B.T], axis=1),
    "stack one": lambda p, A, B: p.stack([A], axis=2),
    "tile": lambda p, A, B: p.tile(A, (3, 2)),
    "tile transposed": lambda p, A, B: p.tile(A.T, (1, 3)),
    "kron": lambda p, A, B: p.kron(A, B),
    "kron of rows": lambda p, A, B: p.kron(A[:1], B),
}


def forget():
    for table in (worth._done, written_plans._known, written_plans._calls):
        table.clear()


def levels(array):
    """How an array is stored."""
    found = stored(array)
    validate(found.source)
    return found.source.format, found.axes


def both(name, A, B, a, b, monkeypatch):
    """Check a function by coordinates and by a kernel."""
    wanted = FUNCTIONS[name](np, a, b)
    forget()
    few = FUNCTIONS[name](fa, A, B)
    same(few, wanted)
    forget()
    monkeypatch.setattr(worth, "WORTH", -1)
    for _ in range(2):  # by a plan, and by what is remembered of the call
        many = FUNCTIONS[name](fa, A, B)
        same(many, wanted)
        assert levels(many) == levels(few)
    forget()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("format", ["rows", "lists", "coordinates", "byte maps", "hashes"])
def test_kernels_give_what_coordinates_give(name, format, monkeypatch):
    A, a = made_of(format, (4, 5))
    B, b = made_of(format, (4, 5), seed=1)
    both(name, A, B, a, b, monkeypatch)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("format", ["pinpoints", "hashes of bytes", "bands", "runs", "blocks"])
def test_other_formats(name, format, monkeypatch):
    A, a = made_of(format, (4, 5))
    if format in ("pinpoints", "bands"):
        a = A.to_numpy().copy()
    both(name, A, A.copy(), a, a, monkeypatch)


@pytest.mark.parametrize(("dtype", "fill"), [
    (np.int8, 3), (np.float32, np.nan), (np.complex128, 1j), (np.bool_, True), (np.uint16, 0),
])  # fmt: skip
@pytest.mark.parametrize("name", ["rows", "columns", "concat columns", "stack", "tile", "repeat"])
def test_dtypes_and_fills(name, dtype, fill, monkeypatch):
    for format in ("rows", "lists"):
        A, a = made_of(format, (4, 5), dtype, fill)
        B, b = made_of(format, (4, 5), dtype, fill, seed=1)
        both(name, A, B, a, b, monkeypatch)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 1), (0, 0), (1, 6), (5, 1)])
def test_empty_and_short_shapes(shape, monkeypatch):
    for name in FUNCTIONS:
        for format in ("rows", "lists"):
            A, a = made_of(format, shape)
            B, b = made_of(format, shape, seed=1)
            with monkeypatch.context() as patch:
                both(name, A, B, a, b, patch)


def test_vectors_and_deep_lists(monkeypatch):
    for kernels in (False, True):
        forget()
        if kernels:
            monkeypatch.setattr(worth, "WORTH", -1)
            monkeypatch.setattr(joining, "LARGE", -1)
        v = data((7,))
        V = Tensor(SparseList(Element(0.0)), v)
        same(V[PICKS], v[PICKS])
        same(fa.concat([V, V]), np.concatenate([v, v]))
        same(fa.stack([V, V], axis=1), np.stack([v, v], 1))
        same(fa.repeat(V, 2), np.repeat(v, 2))
        same(fa.kron(V, V), np.kron(v, v))
        c = data((4, 3, 5))
        for C in (fa.asarray(c, format=SparseList(SparseList(SparseList(Element(0.0))))),
                  fa.asarray(c, format=Dense(Dense(SparseList(Element(0.0)))))):  # fmt: skip
            for k, n in enumerate(c.shape):
                index = (*[slice(None)] * k, PICKS % n)
                same(C[index], c[index])
                same(fa.concat([C, C], axis=k), np.concatenate([c, c], k))
                same(fa.stack([C, C], axis=k), np.stack([c, c], k))
                same(fa.repeat(C, 2, axis=k), np.repeat(c, 2, k))
    forget()


def test_dtypes_of_operands_differ(monkeypatch):
    A, a = made_of("rows", (4, 5), np.int32)
    B, b = made_of("rows", (4, 5), np.float64, seed=1)
    for name in ("concat", "concat columns", "stack", "kron"):
        with monkeypatch.context() as patch:
            both(name, A, B, a, b, patch)


def test_kernels_are_compiled_for_many_elements():
    forget()
    key = "a kind of calls"
    assert worth.are_few(key, worth.WORTH // 2)
    assert not worth.are_many(key)
    assert not worth.are_few(key, worth.WORTH // 2)
    assert worth.are_many(key)
    assert not worth.are_few("another", worth.WORTH)
    forget()


@pytest.mark.parametrize("many", [-1, 1 << 18])
def test_indices_that_do_not_fit_have_64_bits(many, monkeypatch):
    forget()
    monkeypatch.setattr(worth, "WORTH", many)
    narrow = Dense(SparseList(Element(0.0), index=np.int32, pointer=np.int32))
    most = 2**31 - 1
    A = fa.zeros((2, most), format=narrow)
    A[1, most - 1] = 5.0
    for found in (fa.concat([A, A], axis=1), fa.tile(A, (1, 2)), fa.repeat(A, 2, axis=1)):
        assert found.shape == (2, 2 * most)
        assert found.nnz == 2
        assert found[1, 2 * most - 1] == 5
        assert found.format == listed.widened(narrow)
        with pytest.raises(IndexOverflow):
            Tensor(narrow, found)
    forget()


def test_remembered_calls_tell_operands_apart(monkeypatch):
    monkeypatch.setattr(worth, "WORTH", -1)
    forget()
    A, a = made_of("rows", (4, 5))
    B, b = made_of("rows", (4, 5), seed=1)
    for _ in range(2):
        same(fa.concat([A, A]), np.concatenate([a, a]))
        same(fa.concat([A, B]), np.concatenate([a, b]))
        same(fa.concat([A, B, A]), np.concatenate([a, b, a]))
        same(fa.concat([A, B, B]), np.concatenate([a, b, b]))
        same(fa.concat([B, A], axis=1), np.concatenate([b, a], 1))
        same(fa.kron(A, B), np.kron(a, b))
        same(fa.kron(B, B), np.kron(b, b))
        same(A[PICKS], a[PICKS])
        same(B[PICKS[::-1]], b[PICKS[::-1]])
    with pytest.raises(IndexError):
        A[np.array([0, 4])]
    forget()


def test_products_that_are_0_are_not_stored(monkeypatch):
    for most in (1 << 18, -1):
        forget()
        monkeypatch.setattr(worth, "WORTH", most)
        A = tensor(np.array([[1e-300, 2.0], [0.0, np.inf]]), FORMATS["rows"])
        found = fa.kron(A, A)
        assert found.nnz == 8
        assert np.isinf(found[3, 3])
        assert found[0, 0] == 0
    forget()


def test_long_dimensions_take_no_memory_for_what_is_not_stored(monkeypatch):
    monkeypatch.setattr(worth, "WORTH", -1)
    forget()
    n = 10**9
    A = fa.zeros((2, n), format=Dense(SparseList(Element(0.0))))
    A[1, n - 1] = 5.0
    tracemalloc.start()
    found = A[:, np.array([n - 1, 0, n - 1])]
    same(found, [[0.0, 0, 0], [5, 0, 5]])
    assert fa.repeat(A, 2, axis=1)[1, 2 * n - 1] == 5
    assert fa.kron(A, A).nnz == 1
    assert fa.concat([A, A], axis=1).nnz == 2
    assert fa.stack([A, A], axis=2).nnz == 2
    assert fa.tile(A, (2, 2)).nnz == 4
    assert tracemalloc.get_traced_memory()[1] < 1 << 23
    tracemalloc.stop()
    forget()


def test_results_of_more_columns_than_a_byte_map_has_room_for(monkeypatch):
    monkeypatch.setattr(worth, "WORTH", -1)
    monkeypatch.setattr(programs, "ROOM", 4)
    forget()
    written_plans._plans.clear()
    A, a = made_of("rows", (4, 5))
    same(A[:, PICKS], a[:, PICKS])
    same(fa.kron(A, A), np.kron(a, a))
    forget()
    written_plans._plans.clear()
