"""Many coordinates are sorted, and matrices transposed, by kernels that count: as NumPy does it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse

import finch_array as fa
from finch_array import orders, run, sorted_coordinates
from finch_core import Tensor
from finch_core.runtime import transposing, worth
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseCOO,
    SparseHash,
    SparseList,
)

SHAPES = [(0, 3), (3, 0), (1, 1), (1, 7), (7, 1), (5, 9), (40, 3)]


@pytest.fixture
def counted(monkeypatch):
    monkeypatch.setattr(sorted_coordinates, "COUNTED", -1)
    monkeypatch.setattr(sorted_coordinates, "FEW", -1)
    monkeypatch.setattr(worth, "WORTH", -1)


def data(shape, dtype=float, seed=0, part=0.5):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < part, rng.integers(1, 100, shape), 0).astype(dtype)


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_orders_are_stable(ndim):
    rng = np.random.default_rng(ndim)
    for shape in itertools.product((1, 2, 50), repeat=ndim):
        coords = [rng.integers(0, n, 60) for n in shape]
        order = sorted_coordinates.order_of(shape, coords)
        wanted = np.lexsort(coords[::-1])
        assert np.array_equal(np.arange(60) if order is None else order, wanted)


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.complex64, np.bool_])
def test_transposes_are_counted(index, dtype, monkeypatch):
    made = []
    counts = transposing.transposed_rows
    monkeypatch.setattr(
        transposing, "transposed_rows", lambda *args: made.append(args) or counts(*args)
    )
    for shape in SHAPES:
        x = data(shape, dtype)
        A = Tensor(Dense(SparseList(Element(dtype(0)), index=index, pointer=index)), x)
        B = run.reordered(A, (1, 0))
        np.testing.assert_array_equal(B.to_numpy(), x.T, strict=True)
        assert not any(np.shares_memory(a, b) for a in A.arrays for b in B.arrays)
        C = A.T | A.T if dtype is np.bool_ else A.T + A.T
        np.testing.assert_array_equal(C.to_numpy(), (x | x if dtype is np.bool_ else x + x).T)
        levels = list(B.format.levels())
        assert levels[1].index == levels[1].pointer == index
    assert made


@pytest.mark.usefixtures("counted")
def test_fills_and_other_formats_are_transposed_too():
    x = data((6, 5)) + 1
    for format in (Dense(SparseList(Element(1.0))), SparseCOO(SparseCOO(Element(1.0)))):
        A = Tensor(format, x)
        found = run.reordered(A, (1, 0))
        assert found.fill_value == 1
        np.testing.assert_array_equal(found.to_numpy(), x.T)
        square = x[:5] + x[:5].T - 1
        np.testing.assert_array_equal((A[:5] + A[:5].T - 1).to_numpy(), square, strict=True)


@pytest.mark.parametrize("many", [False, True])
def test_rolls_keep_lists(many, monkeypatch):
    if many:
        monkeypatch.setattr(worth, "WORTH", -1)
    for format, shape in (
        (Dense(SparseList(Element(0.0), index=np.int32)), (4, 6)),
        (SparseList(SparseList(Element(2.0))), (4, 6)),
        (Dense(SparseList(SparseList(Element(0.0)))), (3, 4, 2)),
        (SparseList(Element(0.0)), (5,)),
        (Dense(SparseList(Element(0.0))), (0, 6)),
    ):
        x = data(shape)
        A = Tensor(format, x)
        for shift, axis in ((1, 0), (-2, 0), (7, -1), (0, 0), ((1, -1), (0, -1))):
            B = fa.roll(A, shift, axis=axis)
            np.testing.assert_array_equal(B.to_numpy(), np.roll(x, shift, axis), strict=True)
            levels = zip(B.format.levels(), A.format.levels(), strict=True)
            assert all(b.layout == a.layout for b, a in levels)
            assert B.fill_value == A.fill_value
            assert not any(np.shares_memory(a, b) for a in A.arrays for b in B.arrays)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "f4", "f8", "c8"])
@pytest.mark.parametrize("power", [2, 2.0, np.float32(2), np.float64(2), np.int8(2), np.int64(2)])
def test_squares_are_powers(dtype, power):
    x = data((4, 5), dtype) * np.array(11, dtype)
    for fill in (0, 1):
        A = Tensor(Dense(SparseList(Element(np.dtype(dtype).type(fill)))), x)
        found = A**power
        wanted = x**power
        np.testing.assert_allclose(found.to_numpy(), wanted, rtol=1e-6)
        assert found.dtype == wanted.dtype
        assert found.fill_value == wanted.dtype.type(fill) ** 2


def test_diagonals_and_places_own_their_memory():
    S = scipy.sparse.csr_array(data((6, 6)))
    A = fa.asarray(S)
    found = [fa.linalg.diagonal(A, offset=k) for k in (-6, -2, 0, 1, 5)]
    for k, d in zip((-6, -2, 0, 1, 5), found, strict=True):
        np.testing.assert_array_equal(d.to_numpy(), np.diagonal(S.toarray(), k))
        assert not any(np.shares_memory(a, S.data) for a in d.arrays)
    places = fa.nonzero(A)
    for mine, theirs in zip(places, S.toarray().nonzero(), strict=True):
        np.testing.assert_array_equal(np.asarray(mine), theirs, strict=True)
        assert not np.shares_memory(np.asarray(mine), S.indices)
    S.data[::2] = 0
    for mine, theirs in zip(fa.nonzero(A), S.toarray().nonzero(), strict=True):
        np.testing.assert_array_equal(np.asarray(mine), theirs, strict=True)


def test_products_scatter_whole_rows():
    """``A.T @ D`` adds rows of ``D`` to those of the result, without a transpose of ``A``."""
    A = orders.Term(("r", "k"), (1e5, 10.0), True, 1e6, True, frozenset({0}))
    D = orders.Term(("r", "c"), (1e5, 8.0), False, 8e5, False, frozenset({0, 1}))
    sizes = {"k": 1e5, "c": 8.0, "r": 1e5}
    order = orders.choose([A, D], sizes, ("k", "c"), False, full={"c"}, dense=True)
    assert order.loops == ("r", "k", "c")
    assert order.copied == ()
    x, D2 = data((30, 20)), data((30, 8))
    B = Tensor(Dense(SparseList(Element(0.0))), x)
    np.testing.assert_array_equal((B.T @ fa.asarray(D2)).to_numpy(), x.T @ D2)


@pytest.mark.parametrize("by_columns", [False, True])
def test_dense_factors_are_copied_so_that_the_inner_loop_is_contiguous(by_columns):
    """``D @ A`` adds multiples of columns of ``D``, which are copied into rows."""
    stored = ("c", "k") if by_columns else ("k", "c")
    D = orders.Term(("r", "k"), (8.0, 1e5), False, 8e5, False, frozenset({0, 1}))
    A = orders.Term(stored, (1e5, 10.0), True, 1e6, True, frozenset({0}))
    sizes = {"r": 8.0, "k": 1e5, "c": 1e5}
    order = orders.choose([D, A], sizes, ("r", "c"), False, full={"r"}, dense=True)
    assert order.copied == (0,)
    assert order.last == "r"
    assert order.loops == (("c", "r", "k") if by_columns else ("k", "c", "r"))
    few = orders.Term(stored, (1e5, 1e-4), True, 10, True, frozenset({0}))
    order = orders.choose([D, few], sizes, ("r", "c"), False, full={"r"}, dense=True)
    assert 0 not in order.copied


FACTORS = [
    Dense(SparseList(Element(0.0))),
    SparseCOO(SparseCOO(Element(0.0))),
    Dense(RunList(Element(0.0))),
    SparseHash(SparseHash(Element(0.0))),
    Dense(SparseBand(Element(0.0))),
]


@pytest.mark.parametrize("format", FACTORS, ids=str)
def test_products_with_dense_matrices_on_either_side(format):
    for n, m, k in itertools.product((0, 1, 3, 40), (0, 1, 5, 70), (1, 2, 20)):
        left, right, x = data((k, n)), data((m, k)), data((n, m), part=0.2)
        A = Tensor(format, x)
        for D in (left, np.asfortranarray(left), fa.asarray(left)):
            np.testing.assert_array_equal(fa.matmul(D, A).to_numpy(), left @ x)
            np.testing.assert_array_equal(fa.matmul(A.T, D.T).to_numpy(), x.T @ left.T)
        np.testing.assert_array_equal(fa.matmul(A, fa.asarray(right)).to_numpy(), x @ right)
        np.testing.assert_array_equal(fa.matmul(right.T, A.T).to_numpy(), right.T @ x.T)


def test_products_of_other_fills_and_dtypes_with_copied_factors():
    x = data((60, 50), part=0.1)
    for fill, dtype in itertools.product((0, 1), ("i4", "f4", "c16", "?")):
        A = Tensor(Dense(SparseList(Element(np.dtype(dtype).type(fill)))), x.astype(dtype))
        D = data((7, 60)).astype(dtype)
        found, wanted = fa.matmul(D, A), D @ x.astype(dtype)
        np.testing.assert_array_equal(found.to_numpy(), wanted, strict=True)
        own = Tensor(Dense(Dense(Element(np.dtype(dtype).type(1)))), D)
        np.testing.assert_array_equal(fa.matmul(own, A).to_numpy(), wanted, strict=True)


def test_open_meshes_are_taken_dimension_by_dimension():
    x = data((4, 5, 6))
    both = np.array([[0], [1]]), np.array([[1, 2]])
    for format in (
        Dense(SparseList(SparseList(Element(0.0)))),
        SparseCOO(SparseCOO(SparseCOO(Element(0.0)))),
        Dense(Dense(Dense(Element(0.0)))),
    ):
        A = Tensor(format, x)
        for index in (
            np.ix_([1, 0, 3], [2, 2]),
            np.ix_([1], [2, 0], [5, 5, 1]),
            np.ix_([0, 1], [True, False, True, True, False]),
            (slice(1, 3), *np.ix_([1, -1], [0, 2])),
            (*both, slice(None, None, -1)),
            (both[0], both[1].T),
            (both[0].T, both[1].T),
            (both[0], slice(None), both[1]),
            (np.zeros((0, 1), int), both[1]),
        ):
            np.testing.assert_array_equal(A[index].to_numpy(), x[index], strict=True)
    S = scipy.sparse.random_array((20_000, 20_000), density=1e-6, rng=np.random.default_rng(0))
    rows = np.arange(20_000)
    found = fa.asarray(S.tocsr())[np.ix_(rows[::-1], rows)]  # all pairs would take gigabytes
    assert (found.to_scipy() != S.tocsr()[::-1]).nnz == 0


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("fill", [0.0, 1.0])
def test_single_elements_and_masks_of_many(many, fill, monkeypatch):
    if many:
        monkeypatch.setattr(worth, "WORTH", -1)
    x = data((7, 6)) + fill
    for format in (
        Dense(SparseList(Element(fill))),
        SparseCOO(SparseCOO(Element(fill))),
        SparseList(SparseList(Element(fill))),
    ):
        A = Tensor(format, x)
        for index in (
            ([0, 6, 3], [5, 0, -1]),
            ([0, 6, 3], 2),
            (np.array([[0], [1]]), np.array([[0, 1], [2, 3]])),
            (np.zeros(0, int), np.zeros(0, int)),
        ):
            found = A[index]
            np.testing.assert_array_equal(found.to_numpy(), x[index], strict=True)
            assert found.fill_value == fill
        mask = x > 50
        np.testing.assert_array_equal(np.asarray(A[A > 50]), x[mask])
        for value in (fill, 7.0):
            B, y = A.copy(), x.copy()
            B[A > 50], y[mask] = value, value
            np.testing.assert_array_equal(B.to_numpy(), y, strict=True)
            assert B.format == A.format
            C, z = A.copy(), x.copy()
            C[[1, 1, 3], [2, 2, 5]], z[[1, 1, 3], [2, 2, 5]] = value, value
            np.testing.assert_array_equal(C.to_numpy(), z, strict=True)


def test_copies_of_transposes_are_counted(monkeypatch):
    monkeypatch.setattr(worth, "WORTH", -1)
    narrow = Dense(SparseList(Element(0.0), index=np.int8, pointer=np.int16))
    for shape in SHAPES:
        x = data(shape)
        A = Tensor(Dense(SparseList(Element(0.0), index=np.int32)), x)
        for format in (A.format, narrow, SparseList(SparseList(Element(0.0)))):
            B = Tensor(format, A.T)
            np.testing.assert_array_equal(B.to_numpy(), x.T, strict=True)
            assert B.format == format
            assert not any(np.shares_memory(a, b) for a in A.arrays for b in B.arrays)
        C = fa.asarray(scipy.sparse.csc_array(x), format=A.format)
        np.testing.assert_array_equal(C.to_numpy(), x, strict=True)


@pytest.mark.parametrize("sparse", [False, True])
def test_lists_of_numbers_are_assigned_as_numbers(sparse):
    for dtype, values in (
        (np.uint8, [[255, 10, 0], (7, 8, 9)]),
        (bool, [1, 0, [1, 0, 1], True]),
        (np.float32, [[1.5, 2, 3], [1, 2, 3]]),
        (np.int8, [[1, 2, -3], 5]),
    ):
        level = SparseList if sparse else Dense
        for value in values:
            x = np.zeros((4, 3), dtype)
            A = Tensor(Dense(level(Element(dtype(0)))), x.copy())
            A[1], x[1] = value, value
            A.T[:, 2], x.T[:, 2] = value, value
            np.testing.assert_array_equal(A.to_numpy(), x, strict=True)
        A = Tensor(Dense(level(Element(dtype(0)))), np.zeros((4, 3), dtype))
        if np.dtype(dtype).kind in "iu":
            with pytest.raises(OverflowError, match="out of bounds for"):
                A[1] = [300, 1, 2]
            with pytest.raises(TypeError, match=r"cast it, as in value.astype\(np."):
                A[1] = [1.5, 1, 2]
        elif dtype is bool:
            with pytest.raises(TypeError, match="does not fit in an array of bool"):
                A[1] = [2, 1, 0]
        assert not A.to_numpy().any()


def test_calls_that_copy_operands_follow_what_these_store():
    """The plan of a warm call with copies is kept; whether to copy depends on what is stored."""
    n, D = 300, data((6, 300))
    shape = Dense(SparseList(Element(0.0)))
    for part in (0.3, 0.3, 0.3, 0.0, 0.001, 0.3, 0.9, 0.0):
        x = data((n, n), seed=int(1000 * part), part=part)
        A, B = Tensor(shape, x), Tensor(shape, 2 * x)
        for _call in range(3):
            np.testing.assert_array_equal((A + B.T).to_numpy(), x + 2 * x.T)
            np.testing.assert_array_equal(fa.matmul(D, A).to_numpy(), D @ x)
            np.testing.assert_array_equal(fa.matmul(D, A.T).to_numpy(), D @ x.T)
        narrow = Tensor(Dense(SparseList(Element(0.0), index=np.int32)), x)
        np.testing.assert_array_equal((A + narrow.T).to_numpy(), x + x.T)


def test_warm_calls_that_copy_operands_look_nothing_up_twice(monkeypatch):
    A = Tensor(Dense(SparseList(Element(0.0))), data((40, 40)))
    for _call in range(3):
        A + A.T
    monkeypatch.setattr(run, "_prepared", None)
    np.testing.assert_array_equal((A + A.T).to_numpy(), data((40, 40)) + data((40, 40)).T)


def test_products_with_one_column_stay_sparse():
    n = 2 * 10**9
    A = fa.from_coo(([3, 10**9], [0, 2]), [1.0, 3.0], (n, 5)).to(
        SparseList(SparseList(Element(0.0)))
    )
    column = fa.matmul(A, np.ones((5, 1)))
    assert (column.shape, column.nstored, column[3, 0], column[10**9, 0]) == ((n, 1), 2, 1, 3)
    row = fa.matmul(np.ones((1, 5)), A.T)
    assert (row.shape, row.nstored, row[0, 3], row[0, 10**9]) == ((1, n), 2, 1, 3)
