"""Functions that once went dense, or gave wrong values beside dense arrays, keep what is stored."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from array_support import MATRICES, data, fa, held, same, tensor

from finch_array import run
from finch_core import DimensionMismatch, PerformanceWarning, Tensor
from finch_levels import Dense, Element, RunList, SparseList
from finch_wrappers import DiagMask, LoTriMask, window
from finch_wrappers.swizzle import SwizzleTensor

CSR = Dense(SparseList(Element(0.0)))


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("axis", [0, 1])
def test_cumulative_functions_of_every_format(kind, axis):
    a = held(data((3, 5)), MATRICES[kind])
    A = tensor(a, MATRICES[kind])
    same(fa.cumulative_sum(A, axis=axis), a.cumsum(axis))
    same(fa.cumulative_prod(A, axis=axis), a.cumprod(axis))
    wanted = np.cumulative_sum(a, axis=axis, include_initial=True)
    same(fa.cumulative_sum(A, axis=axis, include_initial=True), wanted)


def test_cumulative_sums_of_lists_are_runs():
    A = fa.random((4, 10**6), 1e-5, format=CSR, rng=0)
    found = fa.cumulative_sum(A, axis=1)
    assert found.format == Dense(RunList(Element(0.0)))
    assert found.nstored <= A.nstored + 8
    same(found[:, -1], A.to_numpy().sum(1))


def test_a_dense_cumulative_sum_that_is_large_says_so():
    A = fa.random((2, 10**7), 1e-6, format=CSR, rng=0)
    with pytest.warns(PerformanceWarning, match="cumulative_prod is dense"):
        fa.cumulative_prod(A, axis=1)


def test_the_inverse_of_unique_all_is_sparse():
    A = fa.random((10**4, 10**4), 1e-6, format=CSR, rng=0)
    found = fa.unique_all(A)
    assert found.inverse_indices.nstored == A.nstored
    assert found.counts.to_numpy().sum() == A.size
    small = data((3, 4), fill=2)
    for mine, theirs in zip(
        fa.unique_all(tensor(small, MATRICES["rows"], 2)), np.unique_all(small), strict=True
    ):
        same(mine, theirs)


def test_arrays_of_different_fills_are_joined():
    a, b = data((2, 3), fill=2), np.zeros((2, 3))
    same(fa.concat([tensor(a, MATRICES["rows"], 2), fa.asarray(b)]), np.concatenate([a, b]))
    bools = np.zeros((2, 3), bool)
    same(fa.stack([tensor(a, MATRICES["rows"], 2), fa.asarray(bools)]), np.stack([a, bools]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_logaddexp_takes_integers():
    a, b = data((2, 3), np.uint16), data((2, 3), np.int64, seed=1)
    same(fa.logaddexp(tensor(a, MATRICES["rows"]), 2), np.logaddexp(a, 2), rtol=1e-6)
    bools = a > 2
    same(fa.logaddexp(tensor(bools, MATRICES["rows"]), 1), np.logaddexp(bools, 1))
    same(
        fa.logaddexp(tensor(a, MATRICES["rows"]), tensor(b, MATRICES["lists"])), np.logaddexp(a, b)
    )


def test_masks_take_the_shape_of_arrays():
    a = data((4, 5))
    below, diagonal = (mask.to_numpy((4, 5)) for mask in (LoTriMask(), DiagMask()))
    for kind in ("rows", "runs", "bands", "dense"):
        own = held(a, MATRICES[kind])
        A = tensor(own, MATRICES[kind])
        same(A * LoTriMask(), own * below)
        same(DiagMask() * A, own * diagonal)
        same((A > 1) & LoTriMask(), (own > 1) & below)
        same(fa.where(LoTriMask(), A, 7), np.where(below, own, 7))
        same(A.T * LoTriMask(), own.T * LoTriMask().to_numpy((5, 4)))
    same(a * LoTriMask(), a * below)
    assert (tensor(a, MATRICES["rows"]) * LoTriMask()).format == CSR
    with pytest.raises(
        DimensionMismatch, match="nothing gives the shape of the result of bitwise_and"
    ):
        _ = DiagMask() & LoTriMask()


def test_products_of_sparse_matrices_stay_sparse_for_every_width_of_indices():
    """The outer dimension of a copy in another order is longer than the inner one was."""
    narrow = Dense(SparseList(Element(0.0), index=np.int32, pointer=np.int32))
    A = fa.random((3000, 3000), 1e-3, format=narrow, rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PerformanceWarning)
        for B in (A, A.T):
            found = A @ B
            assert found.format.child.layout == "compressed"
            assert run._quick[next(reversed(run._quick))][0].plan.order.loops == ("r", "k", "c")
            same(found, (A.to_scipy() @ B.to_numpy()))


def test_a_test_of_numbers_stores_where_it_is_true():
    A = fa.random((50, 60), 0.2, format=CSR, rng=0)
    found = A > 0.5
    assert found.nstored == (A.to_numpy() > 0.5).sum()
    assert (A < 0.5).format.fill_value
    same(A < 0.5, A.to_numpy() < 0.5)


def test_a_result_may_be_made_again_after_its_operands_changed():
    """What a warm call remembers does not depend on values or on memory."""
    a = data((4, 5))
    A, x = tensor(a, MATRICES["rows"]), np.arange(5.0)
    for k in range(4):
        same(A @ x, a @ x)
        same(A * 2.5, a * 2.5)
        same(window(A, (1, 3), None) + 1, a[1:3] + 1)
        x = x + k
        a = a * 2
        A = Tensor(A.format, a)


@pytest.mark.parametrize("first", [0, 1])
def test_results_are_stored_alike_whatever_came_before(first: int) -> None:
    """The order of the loops follows from the sizes of operands, not from those of earlier ones."""
    rng, dtype = np.random.default_rng(5), [np.float32, np.float64][first]
    sizes = [(1000, 1000, 1), (1000, 60_000, 32)]  # rows and columns, entries, columns on the right
    stored = {}
    for n, entries, m in sizes if first else sizes[::-1]:
        one = sp.random(n, n, entries / n**2, "csr", dtype, rng)
        stored[m] = type(fa.tensordot(one, rng.random((n, m)).astype(dtype), axes=1))
    assert stored == {1: SwizzleTensor, 32: Tensor}
