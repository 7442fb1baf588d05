"""Objects over one memory: what a kernel builds anew has memory of its own, so that the other
object keeps the structure that it was checked with."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from finch_core import Tensor, _, asarray, kernel
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseByteMap,
    SparseCOO,
    SparseDiagonals,
    SparseHash,
    SparseList,
)

E = Element(0.0)
FORMATS = {
    "rows": Dense(SparseList(E)),
    "lists": SparseList(SparseList(E)),
    "coordinates": SparseCOO(SparseCOO(E)),
    "runs": Dense(RunList(E)),
    "byte map": Dense(SparseByteMap(E)),
    "hash": SparseHash(SparseHash(E)),
    "diagonals": Dense(SparseDiagonals(E)),
}


@kernel
def store(T, S):
    T[...] = 0
    for i, j in _:
        T[i, j] = S[i, j]
    return T


@kernel
def scale(T):
    for i, j in _:
        T[i, j] *= 2
    return T


@kernel
def put(T, k):
    T[k, k] = 7
    return T


@kernel
def exchange(T, S):
    T, S = S, T
    return T


def called(function, *args):
    return function(*args)


def bound(function, *args):
    return function.bind(*args)()


CALLS = pytest.mark.parametrize("call", [called, bound])


@CALLS
@pytest.mark.parametrize("kind", FORMATS)
def test_a_tensor_of_buffers_keeps_its_structure(kind, call):
    T = Tensor(FORMATS[kind], np.eye(4))
    M = Tensor.from_buffers(T.format, T.shape, T.buffers)
    for k in (1, 2):
        call(store, T, np.full((4, 100 * k), 5.0))
        np.testing.assert_array_equal(M.to_numpy(), np.eye(4))
        np.testing.assert_array_equal(T.to_numpy(), np.full((4, 100 * k), 5.0))
    M2 = Tensor.from_buffers(T.format, T.shape, T.buffers)
    call(store, M2, np.eye(3))
    np.testing.assert_array_equal(T.to_numpy(), np.full((4, 200), 5.0))
    np.testing.assert_array_equal(M2.to_numpy(), np.eye(3))


@CALLS
@pytest.mark.parametrize("kind", ["hash", "byte map"])
def test_elements_that_are_inserted_do_not_appear_in_another_tensor(kind, call):
    T = Tensor(FORMATS[kind], np.diag([1.0, 0, 0]))
    M = Tensor.from_buffers(T.format, T.shape, T.buffers)
    for k in (1, 2):
        call(put, T, k)
        np.testing.assert_array_equal(M.to_numpy(), np.diag([1.0, 0, 0]))
    np.testing.assert_array_equal(T.to_numpy(), np.diag([1.0, 7, 7]))


@CALLS
@pytest.mark.parametrize("kind", ["rows", "coordinates", "diagonals"])
def test_values_that_change_in_place_are_shared_until_the_structure_is_built_anew(kind, call):
    T = Tensor(FORMATS[kind], np.eye(4))
    values = T.buffers["2_val"]
    for expected in (2, 4):
        call(scale, T)
        np.testing.assert_array_equal(values, np.full(4, expected))
    call(store, T, np.eye(4))
    call(scale, T)
    np.testing.assert_array_equal(values, np.full(4, 4))


@CALLS
@pytest.mark.parametrize("of", ["csr_array", "csc_array", "coo_array", "dia_array"])
def test_arrays_of_scipy_keep_their_structure(of, call):
    S = getattr(sparse, of)(np.eye(4))
    T = asarray(S)
    call(scale, T)
    np.testing.assert_array_equal(S.toarray(), 2 * np.eye(4))
    if of == "csc_array":
        return  # T is a transposed view, and is declared as what it is a view of
    call(store, T, np.ones((4, 1000)))
    assert S.shape == (4, 4)
    np.testing.assert_array_equal(S @ np.ones(4), np.full(4, 2.0))
    np.testing.assert_array_equal(asarray(S).to_numpy(), 2 * np.eye(4))


@CALLS
def test_an_array_given_to_scipy_keeps_its_structure(call):
    T = Tensor(FORMATS["rows"], np.eye(4))
    S = T.to_scipy()
    call(store, T, np.ones((4, 1000)))
    np.testing.assert_array_equal(S @ np.ones(4), np.ones(4))


def test_tensors_that_are_swapped():
    T, S = Tensor(FORMATS["rows"], np.eye(4)), Tensor(FORMATS["rows"], np.ones((4, 4)))
    M = Tensor.from_buffers(T.format, T.shape, T.buffers)
    exchange(T, S)
    store(S, np.full((4, 4), 3.0))
    store(T, np.full((4, 50), 3.0))
    np.testing.assert_array_equal(M.to_numpy(), np.eye(4))
    np.testing.assert_array_equal(S.to_numpy(), np.full((4, 4), 3.0))


@kernel
def scale_and_store(T, U, S):
    for i, j in _:
        T[i, j] *= 2
    U[...] = 0
    for i, j in _:
        U[i, j] = S[i, j]
    return T


@CALLS
@pytest.mark.parametrize("order", [1, -1])
def test_of_two_outputs_one_of_which_keeps_its_structure(order, call):
    T, U = (Tensor(FORMATS["rows"], np.eye(4)) for _k in range(2))
    M, V = (Tensor.from_buffers(X.format, X.shape, X.buffers) for X in (T, U))
    for size in (4, 100):
        call(scale_and_store, T, U, np.ones((4, size)))
    for X in (T, U)[::order]:
        call(store, X, np.full((4, 200), 3.0))
    np.testing.assert_array_equal(M.to_numpy(), 4 * np.eye(4))
    np.testing.assert_array_equal(V.to_numpy(), np.eye(4))


def test_a_tensor_whose_buffers_nobody_has_is_written_in_its_memory():
    T = store(Tensor(FORMATS["rows"]), np.ones((4, 50)))
    before = T.arrays
    text, count = str(T), T.nstored
    store(T, np.eye(4))
    assert (text.split(",")[0], count) == ("Tensor 4 x 50 of float64", 200)
    assert all(a is b for a, b in zip(before, T.arrays, strict=True))
