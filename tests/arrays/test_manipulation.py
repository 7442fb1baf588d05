"""Creation, manipulation, sorting, sets, and NumPy's protocols."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from array_support import MATRICES, data, fa, held, same, tensor
from random_arrays import check

from finch_core import DimensionMismatch, Tensor
from finch_core.errors import IndexOverflow, OutOfBounds, OutOfMemory
from finch_levels import Dense, Element, RunList, SparseHash, SparseList
from finch_wrappers import stride

CSR = Dense(SparseList(Element(0.0)))
KINDS = ("rows", "runs", "hashes", "dense")


@pytest.mark.parametrize("kind", KINDS)
def test_shapes(kind):
    a = held(data((4, 6), seed=1), MATRICES[kind])
    A = tensor(a, MATRICES[kind])
    same(fa.reshape(A, (2, -1)), a.reshape(2, 12))
    same(fa.reshape(A, (2, 2, 6)), a.reshape(2, 2, 6))
    same(fa.expand_dims(A, axis=(0, 2)), np.expand_dims(a, (0, 2)))
    same(fa.squeeze(A[:, None], axis=1), a)
    same(fa.permute_dims(A, (1, 0)), a.T)
    same(fa.moveaxis(A, 0, 1), a.T)
    same(fa.broadcast_to(A, (3, 4, 6)), np.broadcast_to(a, (3, 4, 6)))
    same(fa.flip(A), np.flip(a))
    same(fa.roll(A, 2, axis=1), np.roll(a, 2, 1))
    same(fa.roll(A, (1, -1), axis=(0, 1)), np.roll(a, (1, -1), (0, 1)))
    same(fa.roll(A, 5), np.roll(a, 5))
    same(fa.roll(A, 2**63 - 1, axis=1), np.roll(a, 2**63 - 1, 1))
    same(fa.repeat(A, 2, axis=0), np.repeat(a, 2, 0))
    same(fa.tile(A, (2, 2)), np.tile(a, (2, 2)))
    same(fa.concat([A, A], axis=1), np.concatenate([a, a], 1))
    same(fa.stack([A, A], axis=1), np.stack([a, a], 1))
    for part, row in zip(fa.unstack(A), a, strict=True):
        same(part, row)
    same(fa.tril(A), np.tril(a))
    same(fa.triu(A, k=1), np.triu(a, 1))


def test_tiles_share_no_memory():
    a = np.ones((2, 3))
    for made in (a.copy(), fa.asarray(a), fa.eye(2)):
        tiled = fa.tile(made, (1, 1))
        tiled[0, 0] = 7
        assert made[0, 0] == 1


def test_parts_of_real_arrays():
    a = np.array([0, 2, np.inf, -np.inf, np.nan, -1])
    same(fa.imag(fa.asarray(a)), a.imag)
    assert not np.signbit(fa.imag(fa.asarray(a)).to_numpy()).any()
    same(fa.real(fa.asarray(a)), a)


def test_kronecker_products():
    a, b = data((3, 2)), data((2, 4), seed=3)
    same(fa.kron(tensor(a, MATRICES["rows"]), tensor(b, MATRICES["rows"])), np.kron(a, b))
    long = fa.zeros((2**40,), format=SparseList(Element(0.0)))
    with pytest.raises(DimensionMismatch, match="has more elements than an index can tell apart"):
        fa.kron(long, long)


def test_joining_arrays_of_other_fills_and_dtypes():
    a, b = data((2, 3)), data((2, 3), np.int64, fill=2, seed=1)
    A, B = tensor(a, MATRICES["rows"]), tensor(b, MATRICES["rows"], 2)
    same(fa.concat([A, B]), np.concatenate([a, b]))
    same(fa.concat([A, np.ones((1, 3))]), np.concatenate([a, np.ones((1, 3))]))
    with pytest.raises(DimensionMismatch):
        fa.concat([A, B[:, :2]])
    for n in (0, 1, 3):  # a copy of a dense view may be stored in another order
        view = stride(fa.asarray(a[:1, :n]), slice(None, None, 2), slice(None, None, -1))
        ones = tensor(np.ones((1, n)), ("SparseList", "SparseList"), 1)
        same(
            fa.concat([view, ones], axis=1),
            np.concatenate([a[:1, :n][:, ::-1], np.ones((1, n))], 1),
        )
    with pytest.raises(DimensionMismatch):
        fa.reshape(A, (5,))


@pytest.mark.parametrize("kind", KINDS)
def test_sorting_and_sets(kind):
    a = held(data((4, 6), seed=2), MATRICES[kind]) - 2.0
    A = tensor(a + 2.0, MATRICES[kind]) - 2.0
    for axis in (0, 1):
        same(fa.sort(A, axis=axis), np.sort(a, axis))
        same(fa.sort(A, axis=axis, descending=True), -np.sort(-a, axis))
        same(fa.argsort(A, axis=axis), np.argsort(a, axis, stable=True))
        same(fa.cumulative_sum(A, axis=axis), np.cumsum(a, axis))
        same(fa.diff(A, axis=axis), np.diff(a, axis=axis))
    values, counts = np.unique(a, return_counts=True)
    same(fa.unique_values(A), values)
    same(fa.unique_counts(A).counts, counts)
    same(fa.isin(A, [0, 1]), np.isin(a, [0, 1]))
    for mine, theirs in zip(fa.nonzero(A), np.nonzero(a), strict=True):
        same(mine, theirs)
    top, _ = fa.top_k(A, 2)
    same(top, -np.sort(-a, 1)[:, :2])


def test_what_there_is_not_is_refused():
    a = np.arange(6.0).reshape(2, 3)
    for call in (fa.argsort, fa.flip, lambda x, axis: fa.roll(x, 1, axis=axis)):
        with pytest.raises(OutOfBounds, match="axis 5 is out of bounds for an array of 2"):
            call(fa.asarray(a), axis=5)
    with pytest.raises(np.exceptions.AxisError) as refused:
        np.sum(fa.asarray(a), axis=-3)
    for error in (refused.value, pickle.loads(pickle.dumps(refused.value))):
        assert (error.axis, error.ndim) == (-3, 2)
        assert str(error) == "axis -3 is out of bounds for an array of 2 dimensions"
    with pytest.raises(ValueError, match="there are 3 elements along axis 1, and k is 4"):
        fa.top_k(fa.asarray(a), 4, axis=1)
    with pytest.raises(ValueError, match="not inexact"):
        fa.finfo(np.int8)


def test_arrays_without_dimensions_and_types_as_dtypes():
    number = fa.asarray(np.array(3.0))
    assert fa.flip(number).shape == fa.roll(number, 1).shape == ()
    assert fa.finfo(np.float32).bits == fa.finfo(fa.float32).bits == 32
    assert fa.iinfo(np.int8).max == 127
    assert fa.can_cast(np.int8, np.float32)
    assert not fa.can_cast(np.float64, np.int8)


def test_nan_comes_last_and_is_found():
    a = np.array([0.0, np.nan, -1.0, 0.0, 2.0])
    A = Tensor(SparseList(Element(0.0)), a)
    same(fa.sort(A), np.sort(a))
    assert int(fa.argmax(A)) == 1
    assert int(fa.argmin(A)) == 1
    assert np.isnan(float(fa.max(A)))


def test_creation():
    same(fa.zeros((2, 3)), np.zeros((2, 3)))
    same(fa.ones(3, dtype=np.int8, format=RunList(Element(0.0))), np.ones(3, np.int8))
    assert fa.full((10**6, 10**6), 2.0, format=SparseList(SparseList(Element(0.0)))).nstored == 0
    same(fa.eye(3, 4, k=1), np.eye(3, 4, k=1))
    same(fa.eye(3, format=CSR), np.eye(3))
    same(fa.diags([1.0, 2.0], 1), sp.diags_array([1.0, 2.0], offsets=1).toarray())
    same(
        fa.diags([[1, 2, 3], [4, 5]], [0, -1], shape=(3, 3)),
        np.diag([1, 2, 3]) + np.diag([4, 5], -1),
    )
    same(fa.arange(5), np.arange(5))
    same(fa.linspace(0, 1, 5), np.linspace(0, 1, 5))
    A = tensor(data((2, 3)), MATRICES["rows"])
    assert fa.full_like(A, 7).format.fill_value == 7
    assert fa.zeros_like(A).nstored == 0
    for mine, theirs in zip(
        fa.meshgrid([1, 2], [3, 4, 5]), np.meshgrid([1, 2], [3, 4, 5]), strict=True
    ):
        same(mine, theirs)
    assert fa.asarray(sp.eye_array(3, format="csr")).nstored == 3
    assert fa.asarray([[1, 0], [0, 2]], format=SparseHash(SparseHash(Element(0)))).nstored == 2
    same(fa.from_coo(([0, 1, 1], [2, 0, 0]), [1.0, 2.0, 3.0], (2, 3)), [[0.0, 0, 1], [5, 0, 0]])


def test_random_arrays():
    A = fa.random((50, 60), 0.1, rng=1)
    assert A.nstored == 300
    same(fa.random((50, 60), 0.1, rng=1), A.to_numpy())
    assert fa.random((50, 60), 0.1, rng=1, format=CSR).format == CSR
    assert fa.random((4, 5), 1.0, rng=0).nstored == 20
    assert fa.random((10**6, 10**6), 1e-9, rng=0).nstored == 1000


def test_the_functions_of_numpy_come_here():
    a = data((3, 4), seed=5)
    A = tensor(a, MATRICES["rows"])
    same(np.sin(A), np.sin(a))
    same(np.add(A, 1), a + 1)
    same(np.sum(A, axis=0), a.sum(0))
    same(np.sum(A), a.sum())
    same(np.max(A, axis=1), a.max(1))
    same(np.add.reduce(A), a.sum(0))
    same(np.concatenate([A, A]), np.concatenate([a, a]))
    same(np.tensordot(A, A.T, 1), np.tensordot(a, a.T, 1))
    same(np.where(A > 1, A, 0), np.where(a > 1, a, 0))
    same(np.ones((2, 3)) @ A, np.ones((2, 3)) @ a)
    same(np.transpose(A), a.T)
    same(np.multiply.outer(A[0], A[1]), np.multiply.outer(a[0], a[1]))
    assert np.allclose(A, a)
    assert np.array_equal(A, a)
    assert np.shape(A) == (3, 4)
    out = np.zeros((3, 4))
    np.multiply(A, 2, out=out)
    assert (out == 2 * a).all()
    assert np.sin(A).nstored == A.nstored
    with pytest.raises(TypeError):
        np.fft.fft(A)
    same(fa.asarray(np.asarray(A)), a)


def test_dlpack_is_of_dense_tensors():
    dense = fa.asarray(np.arange(6.0).reshape(2, 3))
    assert (np.from_dlpack(dense) == np.arange(6.0).reshape(2, 3)).all()
    with pytest.raises(BufferError, match="dense arrays only"):
        np.from_dlpack(tensor(data((2, 3)), MATRICES["rows"]))


def test_the_namespace():
    assert (fa.eye(2).__array_namespace__()) is fa
    with pytest.raises(ValueError, match="not supported"):
        fa.eye(2).__array_namespace__(api_version="1999.12")
    info = fa.__array_namespace_info__()
    assert info.default_device() == "cpu"
    assert fa.isdtype(fa.float32, "real floating")
    assert fa.result_type(fa.int8, fa.eye(2)) == np.float64
    assert set(fa.__dir__()) >= {"add", "linalg", "einsum", "float64"}
    for name in fa.__dir__():
        assert getattr(fa, name, fa) is not None or name == "newaxis"


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions(seed):
    assert check(seed) == ""


def test_what_is_too_long_to_index_is_refused():
    long = Tensor(SparseList(Element(0.0)), (2**62,))
    for join in (
        lambda: fa.concat([long, long]), lambda: fa.tile(long, 4), lambda: fa.repeat(long, 4),
    ):  # fmt: skip
        with pytest.raises(IndexOverflow, match="a tensor has at most"):
            join()


def test_each_element_of_a_long_array_is_repeated():
    """At the cost of what is stored; by a number as by as many numbers as there are elements."""
    long = Tensor(SparseList(Element(0.0)), (2**40,))
    assert fa.repeat(long, 4).shape == (2**42,)
    array = np.array([[0, 2, 0], [1, 0, 3]])
    held = Tensor(SparseList(SparseList(Element(0))), array)
    for axis in (None, 0, 1):
        for count in (0, 1, 3):
            wanted = np.repeat(array, count, axis)
            times = np.full(array.size if axis is None else array.shape[axis], count)
            for given in (count, [count], times):
                same(fa.repeat(held, given, axis=axis), wanted)
    with pytest.raises(ValueError, match="negative"):
        fa.repeat(held, -1)


def test_what_no_memory_can_hold_is_refused():
    makers = (
        lambda: fa.zeros((2**62,)), lambda: fa.full((2**40, 2**20), 3.0), lambda: fa.arange(2**61),
        lambda: fa.linspace(0, 1, 2**60), lambda: fa.eye(2**60),
    )  # fmt: skip
    for make in makers:
        with pytest.raises(OutOfMemory, match="no memory for a dense array of shape"):
            make()
    empty = Tensor(SparseList(SparseList(Element(0.0))), (2**62, 2**62))
    with pytest.raises(DimensionMismatch, match="too many elements to count"):
        fa.unique_counts(empty)
    with pytest.raises(ValueError, match="negative"):
        fa.zeros((-1,))
    for ends in ((np.inf,), (np.nan,), (0, np.nan), (0, -np.inf)):
        with pytest.raises(ValueError, match="arange: cannot compute length|Maximum allowed size"):
            fa.arange(*ends)


def test_diagonals_of_sparse_vectors_store_what_these_store():
    n = 10**12
    x = fa.from_coo(([1, n - 2],), [3.0, 4.0], (n,))
    found = fa.diags([x, x[1:], 0 * x[:1]], [0, -1, 1])
    assert (found.shape, found[1, 1], found[1, 0], found[n - 2, n - 2]) == ((n, n), 3.0, 3.0, 4.0)
    assert found.nstored <= 5
    plain = np.array([0.0, 2, 0, 0, 5])
    for kind in (SparseList(Element(0.0)), SparseList(Element(1.0)), RunList(Element(0.0))):
        y = Tensor(kind, plain)
        for k in (0, 2, -1):
            same(fa.diags(y, k), np.diag(plain, k))
        same(fa.diags([y, y[1:2]], [0, 1]), np.diag(plain) + 2 * np.eye(5, k=1))
        with pytest.raises(ValueError, match="has 5 elements; in"):
            fa.diags(y, 1, shape=(4, 4))
