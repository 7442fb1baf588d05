"""Extremes and sorted values of fibers are NumPy's: random formats, fills, dtypes and shapes."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import fa, held, same, tensor

from finch_core import DimensionMismatch, Tensor
from finch_levels import Dense, Element

SHAPES = [
    (0, 4),
    (1, 1),
    (1, 6),
    (6, 1),
    (7, 5),
    (40, 3),
    (3, 40),
    (4, 1, 5),
    (3, 4, 5),
    (9,),
    (1,),
]
DTYPES = [np.float64, np.float32, np.float16, np.int8, np.uint16, np.int64, bool, "M8[D]", complex]
LEVELS = ("SparseList", "Dense", "SparseHash", "SparseByteMap", "SparsePinpoint", "RunList")


def drawn(rng, shape, dtype, density):
    """An array, its fill, and whether NaN was put into it."""
    dtype = np.dtype(dtype)
    found = rng.integers(-3 if dtype.kind in "ifc" else 0, 4, shape).astype(dtype)
    if dtype.kind == "c":
        found = found + 1j * rng.integers(-1, 2, shape)
    fill = np.full(max(found.size, 1), rng.integers(0, 3)).astype(dtype)[0]
    nan = dtype.kind in "fcM" and rng.random() < 0.5
    if nan and dtype.kind != "M":
        found = np.where(rng.random(shape) < 0.2, dtype.type(np.nan), found)
        fill = dtype.type(np.nan) if rng.random() < 0.3 else fill
    elif nan:
        found = np.where(rng.random(shape) < 0.2, np.datetime64("NaT", "D"), found)
    return np.where(rng.random(shape) < density, found, fill), fill


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_random_arrays(shape, dtype):
    rng = np.random.default_rng([len(shape), *shape, DTYPES.index(dtype)])
    for density in (0.0, 0.1, 0.5, 1.0):
        a, fill = drawn(rng, shape, dtype, density)
        first = "Dense" if density == 0.5 and len(shape) > 1 else "SparseList"
        A = tensor(a, (first, *["SparseList"] * (len(shape) - 1)), fill)
        for axis in (*range(len(shape)), -1, None):
            if a.dtype.kind != "c" and a.shape[axis or 0] and (axis is not None or a.size):
                same(fa.argmax(A, axis=axis), np.argmax(a, axis=axis))
                same(fa.argmin(A, axis=axis), np.argmin(a, axis=axis))
            if axis is not None:
                wanted = np.sort(a, axis)
                np.testing.assert_array_equal(fa.sort(A, axis=axis).to_numpy(), wanted)
                found = fa.sort(A, axis=axis, descending=True)
                np.testing.assert_array_equal(found.to_numpy(), np.flip(wanted, axis))
                assert found.dtype == a.dtype
                assert found.fill_value.dtype == a.dtype


@pytest.mark.parametrize("levels", [(a, b) for a in LEVELS[:2] for b in LEVELS[2:]])
def test_formats(levels):
    rng = np.random.default_rng(len("".join(levels)))
    a, fill = drawn(rng, (6, 7), np.int64, 0.4)
    a = held(a, levels, fill)
    A = tensor(a, levels, fill)
    for axis in (0, 1, None):
        same(fa.argmax(A, axis=axis), a.argmax(axis))
        same(fa.argmin(fa.permute_dims(A, (1, 0)), axis=axis), a.T.argmin(axis))
    same(fa.sort(A, axis=0), np.sort(a, 0))
    same(fa.sort(fa.permute_dims(A, (1, 0)), axis=0), np.sort(a.T, 0))


def test_lengths_of_fibers_that_differ_much():
    rng = np.random.default_rng(1)
    a = np.where(rng.random((50, 300)) < rng.random((50, 1)) ** 8, rng.normal(size=(50, 300)), 0.0)
    A = tensor(a, ("Dense", "SparseList"))
    for axis in (0, 1):
        same(fa.sort(A, axis=axis), np.sort(a, axis))
        same(fa.sort(A, axis=axis, descending=True), -np.sort(-a, axis))
        same(fa.argmax(A, axis=axis), a.argmax(axis))


def test_fibers_that_store_nothing_take_no_room():
    n = 1 << 40
    A = fa.from_coo(([5, 5, n - 2], [7, n - 3, 0]), [2.0, -1.0, 3.0], (n, n))
    for axis in (0, 1):
        found = fa.sort(A, axis=axis)
        assert found.shape == (n, n)
        assert found.nnz == 3
    coords = [c.to_numpy() for c in fa.nonzero(fa.sort(A, axis=1))]
    assert np.transpose(coords).tolist() == [[5, 0], [5, n - 1], [n - 2, n - 1]]
    coords = [c.to_numpy() for c in fa.nonzero(fa.sort(A, axis=1, descending=True))]
    assert np.transpose(coords).tolist() == [[5, 0], [5, n - 1], [n - 2, 0]]
    B = fa.from_coo(([5, 7], [0, n - 1]), [-1.0, 2.0], (9, n))
    assert fa.argmax(B, axis=1).to_numpy().tolist() == [0] * 5 + [1, 0, n - 1, 0]
    assert fa.argmin(B, axis=1).to_numpy().tolist() == [0] * 9


@pytest.mark.parametrize("keepdims", [False, True])
def test_extremes_of_an_array_without_dimensions_that_is_to_be_computed(keepdims):
    for value in (0.0, 2.0):
        a = np.array(value)
        for extreme, wanted in ((fa.argmax, np.argmax), (fa.argmin, np.argmin)):
            A = fa.lazy(Tensor(Element(0.0), a)) + 0.0
            found = fa.compute(extreme(A, keepdims=keepdims))
            same(found, wanted(a, keepdims=keepdims))


def test_extremes_of_few_stored_elements_are_sparse():
    A = fa.from_coo(([5, 10**6], [7, 3]), [1.0, 2.0], (2 * 10**9, 10**14))
    along, across = A.argmax(axis=0), np.argmax(A, axis=1, keepdims=True)
    assert (along.shape, along.nstored, along.dtype) == ((10**14,), 2, np.int64)
    assert (along[7], along[3], along[8]) == (5, 10**6, 0)
    assert (across.shape, across[5, 0], across[10**6, 0]) == ((2 * 10**9, 1), 7, 3)
    assert np.nanargmax(A, axis=1).nstored == 2
    assert A.argmin(axis=1).nstored == 0
    assert A[:5000, :5000].argmax(axis=1).nstored < 5000
    rows = A[5:7, :5000].argmax(axis=0)
    assert fa.argmax(A[5:9, :4], axis=0).format == Dense(Element(np.int64(0)))
    assert rows.to_numpy().tolist() == [0] * 5000
    T = fa.from_coo(([5], [7], [1]), [1.0], (10**10, 10**10, 3))
    with pytest.raises(DimensionMismatch, match="more elements than an index can tell apart"):
        T.argmax(axis=2)
