"""SparseByteMap and SparseHash: writes in any order, workspaces, thaw; interpreter = C = NumPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finch_core import Tensor, _, choose, follow, gallop, kernel, walk
from finch_core.testing import backend_names
from finch_levels import Dense, Element, Pattern, SparseByteMap, SparseHash, SparseList

LEVELS = [SparseByteMap, SparseHash]
BACKENDS = backend_names()
NESTINGS = {
    "map(map)": SparseByteMap(SparseByteMap(Element(0.0))),
    "hash(hash)": SparseHash(SparseHash(Element(0.0))),
    "map(hash)": SparseByteMap(SparseHash(Element(0.0))),
    "hash(map)": SparseHash(SparseByteMap(Element(0.0))),
    "map(dense)": SparseByteMap(Dense(Element(0.0))),
    "hash(dense)": SparseHash(Dense(Element(0.0))),
    "dense(map)": Dense(SparseByteMap(Element(0.0))),
    "dense(hash)": Dense(SparseHash(Element(0.0))),
}
CSR = Dense(SparseList(Element(0.0)))


def both(function):
    return {name: kernel(backend=name)(function) for name in BACKENDS}


def _scatter2(out, rows, cols, v):
    out[...] = 0
    for k in _:
        out[rows[k], cols[k]] += v[k]
    return out


def _more(out, rows, cols, v):
    for k in _:
        out[rows[k], cols[k]] += v[k]
    return out


def _total(s, A, B):
    s[...] = 0
    for i, j in _:
        s[()] += A[i, j] * B[i, j]
    return s


def _looked_up(out, A, rows, cols):
    out[...] = 0
    for k in _:
        out[k] = A[follow(rows[k]), follow(cols[k])]
    return out


def _galloped(out, A, B):
    out[...] = 0
    for i, j in _:
        out[i, j] = A[i, gallop(j)] * B[i, gallop(j)]
    return out


def _followed(out, A, B):
    out[...] = 0
    for i, j in _:
        out[i, j] = A[i, follow(j)] * B[i, walk(j)]
    return out


def _gustavson(C, A, B):
    w = Tensor(SparseByteMap(Element(0.0)))
    C[...] = 0
    for i in _:
        w[...] = 0
        for k, j in _:
            w[j] += A[i, k] * B[k, j]
        for j in _:
            C[i, j] = w[j]
    return C


def _gustavson_hash(C, A, B):
    w = Tensor(SparseHash(Element(0.0)))
    C[...] = 0
    for i in _:
        w[...] = 0
        for k, j in _:
            w[j] += A[i, k] * B[k, j]
        for j in _:
            C[i, j] = w[j]
    return C


def _gustavson_given(C, A, B, w):
    C[...] = 0
    for i in _:
        w[...] = 0
        for k, j in _:
            w[j] += A[i, k] * B[k, j]
        for j in _:
            C[i, j] = w[j]
    return C


def _outer(C, A, B):
    w = Tensor(SparseHash(SparseHash(Element(0.0))))
    C[...] = 0
    w[...] = 0
    for k, i, j in _:
        w[i, j] += A[k, i] * B[k, j]
    for i, j in _:
        C[i, j] = w[i, j]
    return C


def _push(new, F, A, V, P):
    new[...] = False
    for j, k in _:
        if F[j] and A[j, k] and not V[k]:
            new[k] |= True
            P[k] = choose(0)(P[k], j)
    return new


def _sieved(out, A, c):
    out[...] = 0
    for i, j in _:
        if A[i, j] > c:
            out[j, i] += A[i, j]
    return out


SCATTER2, MORE, TOTAL, LOOKED_UP = both(_scatter2), both(_more), both(_total), both(_looked_up)
GALLOPED, FOLLOWED, SIEVED, PUSH = both(_galloped), both(_followed), both(_sieved), both(_push)
PRODUCTS = {
    "map": both(_gustavson),
    "hash": both(_gustavson_hash),
    "outer": both(_outer),
}
GIVEN = both(_gustavson_given)


def entries(rng, shape, count, dtype=float):
    rows = rng.integers(0, shape[0], count)
    cols = rng.integers(0, shape[1], count)
    return rows, cols, rng.integers(1, 9, count).astype(dtype)


def added(shape, *entries):
    dense = np.zeros(shape)
    for rows, cols, v in entries:
        np.add.at(dense, (rows, cols), v)
    return dense


def checked(tensor, expected):
    """The tensor's values, read in every way, and its buffers, are what they should be."""
    assert np.array_equal(tensor.to_numpy(), expected)
    again = Tensor.from_buffers(tensor.format, tensor.shape, tensor.buffers)
    assert np.array_equal(again.to_numpy(), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("nesting", NESTINGS)
def test_duplicates_in_any_order_and_thaw(nesting, backend):
    rng = np.random.default_rng(3)
    format = NESTINGS[nesting]
    out = Tensor(format, (6, 9))
    for count in (0, 1, 5, 40, 300):
        first, second = (entries(rng, (6, 9), count) for _ in range(2))
        SCATTER2[backend](out, *first)
        checked(out, added((6, 9), first))
        MORE[backend](out, *second)
        checked(out, added((6, 9), first, second))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("nesting", NESTINGS)
def test_reads_by_every_protocol(nesting, backend):
    rng = np.random.default_rng(4)
    dense = np.where(rng.random((7, 8)) < 0.4, rng.integers(1, 9, (7, 8)), 0.0)
    other = np.where(rng.random((7, 8)) < 0.4, rng.integers(1, 9, (7, 8)), 0.0)
    A, B = Tensor(NESTINGS[nesting], dense), Tensor(CSR, other)
    assert TOTAL[backend](Tensor(Element(0.0)), A, B).value == (dense * other).sum()
    rows, cols = rng.integers(0, 7, 30), rng.integers(0, 8, 30)
    assert np.array_equal(LOOKED_UP[backend](np.zeros(30), A, rows, cols), dense[rows, cols])
    out = Tensor(CSR)
    if not nesting.endswith("(dense)"):
        assert np.array_equal(GALLOPED[backend](out, A, B).to_numpy(), dense * other)
        assert np.array_equal(GALLOPED[backend](out, A, A).to_numpy(), dense * dense)
    assert np.array_equal(FOLLOWED[backend](out, A, B).to_numpy(), dense * other)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("nesting", NESTINGS)
def test_shapes_change_from_call_to_call(nesting, backend):
    rng = np.random.default_rng(5)
    out = Tensor(NESTINGS[nesting])
    for shape in ((3, 4), (4, 3), (0, 5), (5, 0), (2, 20), (20, 2), (6, 2), (3, 4)):
        dense = np.where(rng.random(shape) < 0.6, rng.integers(1, 9, shape), 0.0)
        SIEVED[backend](out, np.ascontiguousarray(dense.T), 4)
        checked(out, np.where(dense > 4, dense, 0))


@pytest.mark.parametrize("nesting", ["hash(hash)", "hash(map)", "map(hash)", "hash(dense)"])
def test_what_is_sieved_away_is_not_stored(nesting):
    dense = np.array([[0, 1.0, 5], [2, 3, 4], [6, 0, 0]])
    out = Tensor(NESTINGS[nesting])
    SIEVED["interpreter"](out, dense, 4)
    assert out.buffers["0_ptr"].tolist() == [0, 2]
    SIEVED["interpreter"](out, dense, 100)
    assert out.buffers["0_ptr"].tolist() == [0, 0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("product", PRODUCTS)
def test_products_with_sparse_workspaces(product, backend):
    rng = np.random.default_rng(6)
    for n, density in ((0, 1.0), (1, 1.0), (5, 0.4), (30, 0.02), (30, 0.3), (60, 0.1)):
        A, B = (
            np.where(rng.random((n, n)) < density, rng.integers(1, 9, (n, n)), 0.0)
            for _ in range(2)
        )
        left = A.T if product == "outer" else A
        C = PRODUCTS[product][backend](Tensor(CSR), Tensor(CSR, left.copy()), Tensor(CSR, B))
        assert np.array_equal(C.to_numpy(), A @ B)
        assert C.nstored == np.count_nonzero((A != 0).astype(int) @ (B != 0).astype(int))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", LEVELS)
def test_a_workspace_may_be_an_argument(level, backend):
    rng = np.random.default_rng(7)
    w = Tensor(level(Element(0.0)))
    for n in (12, 5, 20):
        A = np.where(rng.random((n, n)) < 0.3, rng.integers(1, 9, (n, n)), 0.0)
        C = GIVEN[backend](Tensor(CSR), Tensor(CSR, A), Tensor(CSR, A), w)
        assert np.array_equal(C.to_numpy(), A @ A)
        assert np.array_equal(w.to_numpy(), (A @ A)[-1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", LEVELS)
def test_push_step_of_a_search(level, backend):
    rng = np.random.default_rng(8)
    n = 25
    A = rng.random((n, n)) < 0.15
    V = rng.random(n) < 0.3
    F = rng.random(n) < 0.4
    P = np.zeros(n, np.int64)
    graph = Tensor(Dense(SparseList(Pattern())), A)
    new = PUSH[backend](Tensor(level(Pattern())), Tensor(level(Pattern()), F), graph, V, P)
    hit = (A[F].any(0)) & ~V
    assert np.array_equal(new.to_numpy(), hit)
    parents = [next((j for j in range(n) if j and F[j] and A[j, k]), 0) for k in range(n)]
    assert np.array_equal(P, np.where(hit, parents, 0))


DTYPES = ["bool", "int8", "uint16", "int64", "float32", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("level", LEVELS)
def test_dtypes_and_fills(level, dtype):
    rng = np.random.default_rng(9)
    values = rng.integers(0, 2, (4, 6)).astype(dtype)
    for fill in (0, 1):
        out = Tensor(Dense(level(Element(np.dtype(dtype).type(fill)))), values)
        assert np.array_equal(out.to_numpy(), values)
        assert out.buffers["1_ptr"][-1] == np.count_nonzero(values != fill)
    out = Tensor(level(Element(math.inf)), np.array([1.0, math.inf, math.nan]))
    assert np.array_equal(out.to_numpy(), [1.0, math.inf, math.nan], equal_nan=True)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("index", [np.int32, np.uint8])
def test_narrow_indices(level, index):
    dense = np.array([0, 1.0, 0, 2])
    out = Tensor(level(Element(0.0), index=index, pointer=np.int16), dense)
    assert np.array_equal(out.to_numpy(), dense)
    with pytest.raises(OverflowError):
        Tensor(level(Element(0.0), index=np.int8), (300,)).to(level(Element(0.0), index=np.int8))


triples = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(-3, 3)), max_size=60)


@pytest.mark.parametrize("nesting", ["map(map)", "hash(hash)", "dense(hash)", "map(hash)"])
@settings(max_examples=30, deadline=None)
@given(first=triples, second=triples)
def test_any_sequence_of_updates(nesting, first, second):
    def columns(given):
        rows, cols, v = (np.array([row[k] for row in given], np.int64) for k in range(3))
        return rows, cols, v.astype(float)

    out = Tensor(NESTINGS[nesting], (5, 7))
    SCATTER2["interpreter"](out, *columns(first))
    MORE["interpreter"](out, *columns(second))
    checked(out, added((5, 7), columns(first), columns(second)))
