"""What computes a local goes where its readers go: a sum in a local costs no more than in the
product that it is for, and whatever is read stays."""

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    Scalar,
    SparseBand,
    SparseByteMap,
    SparseHash,
    SparseList,
    SparseRunList,
)

BACKENDS = backend_names()
LEVELS = (SparseList, SparseHash, SparseByteMap, SparseBand, SparseRunList, RunList)


def sampled(C, S, U, V):
    C[...] = 0
    for i, j in _:
        t = Scalar(0.0)
        for k in _:
            t[()] += U[i, k] * V[j, k]
        C[i, j] = S[i, j] * t[()]
    return C


def named(C, S, U, V):
    C[...] = 0
    for i, j in _:
        t = Scalar(0.0)
        for k in _:
            t[()] += U[i, k] * V[j, k]
        v = t[()]
        w = Scalar(0.0)
        w[()] += 2 * v
        if v > 1:
            C[i, j] = S[i, j] * w[()]
    return C


def by_row(C, S, U, V):
    C[...] = 0
    for i in _:
        row = Tensor(Dense(Element(0.0)))
        for j, k in _:
            row[j] += U[i, k] * V[j, k]
        for j in _:
            C[i, j] = S[i, j] * row[j]
    return C


def read_later(C, S, U, V):
    C[...] = 0
    for i in _:
        last = Scalar(0.0)
        for j in _:
            t = Scalar(0.0)
            for k in _:
                t[()] += U[i, k] * V[j, k]
            last[()] += t[()]
            C[i, j] += S[i, j] * t[()]
        for j in _:
            C[i, j] += last[()]
    return C


def data(seed=0, n=6, m=5, k=4):
    rng = np.random.default_rng(seed)
    S = np.where(rng.random((n, m)) < 0.2, rng.integers(1, 5, (n, m)), 0).astype(float)
    S[2] = 0
    return S, rng.integers(0, 3, (n, k)).astype(float), rng.integers(0, 3, (m, k)).astype(float)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [sampled, named, by_row, read_later])
def test_answers_stay(function, backend):
    run = kernel(backend=backend)(function)
    for level in LEVELS if backend == "interpreter" else LEVELS[:2]:
        for shape in ((6, 5, 4), (1, 1, 1), (3, 0, 2), (0, 0, 0)):
            n, m, k = shape
            rng = np.random.default_rng(n)
            S = np.zeros((n, m)) if n < 3 else data(3, *shape)[0]
            U, V = (rng.integers(0, 3, (size, k)).astype(float) for size in (n, m))
            held = Tensor(Dense(level(Element(0.0))), S)
            found = run(Tensor(Dense(Dense(Element(0.0))), (n, m)), held, U, V)
            wanted = run.reference(np.zeros((n, m)), S, U, V)
            np.testing.assert_array_equal(found.to_numpy(), wanted)


@pytest.mark.parametrize("function", [sampled, named])
def test_a_sum_in_a_local_is_made_where_the_product_needs_it(function):
    """One loop along what a row of S stores, and the sum in it, as if it stood in the product."""
    S, U, V = data()
    for level in (SparseList, SparseHash):
        held = Tensor(Dense(level(Element(0.0))), S)
        args = (Tensor(Dense(SparseList(Element(0.0)))), held, U, V)
        listing = kernel(function).lower(*args).as_text("assembly")
        assert listing.count("t_val +=") == 1
        assert "range(0, V_n0)" not in listing
        assert "j_reached" not in listing


def test_a_local_that_is_read_elsewhere_is_computed_everywhere():
    S, U, V = data()
    args = (Tensor(Dense(Dense(Element(0.0)))), Tensor(Dense(SparseList(Element(0.0))), S), U, V)
    listing = kernel(read_later).lower(*args).as_text("assembly")
    assert listing.count("t_val +=") > 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_local_that_is_returned_is_computed(backend):
    @kernel(backend=backend)
    def total(C, S, x):
        t = Scalar(0.0)
        C[...] = 0
        for i in _:
            t[()] += x[i]
        for i in _:
            C[i] = S[i] * 2
        return C, t

    S = Tensor(SparseList(Element(0.0)), np.zeros(3))
    assert total(Tensor(SparseList(Element(0.0))), S, np.ones(3))[1].value == 3.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_with_the_rule_and_without_the_answer_is_the_same(backend):
    S, U, V = data()
    held = Tensor(Dense(SparseList(Element(0.0))), S)
    texts = set()
    for disabled in (frozenset(), frozenset({"scratch"})):
        run = Kernel(sampled, Options(backend=backend, disabled=disabled))
        args = (Tensor(Dense(SparseList(Element(0.0)))), held, U, V)
        np.testing.assert_array_equal(run(*args).to_numpy(), S * (U @ V.T))
        texts.add(run.lower(*args).as_text("assembly"))
    assert len(texts) == 2


def rows_of_product(C, A, B):
    C[...] = 0
    for i in _:
        row = Tensor(WORKSPACE, (B.shape[1],))
        for k, j in _:
            row[j] += A[i, k] * B[k, j]
        for j in _:
            C[i, j] = row[j]
    return C


def above_a_fill(C, A, B):
    C[...] = 0
    for i in _:
        row = Tensor(Dense(Element(2.0)), (B.shape[1],))
        for k, j in _:
            row[j] += A[i, k] * B[k, j]
        for j in range(row.shape[0]):
            C[i, j] = row[j] - 2
    return C


WORKSPACE = Dense(Element(0.0))
STORED_ROWS = SparseList(SparseList(Element(0.0)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", [None, SparseHash, SparseByteMap])
def test_a_local_that_nothing_updates_is_fill(level, backend, monkeypatch):
    """Where a row is empty nothing is stored, and its loops have no turns."""
    own = Dense(Element(0.0)) if level is None else level(Element(0.0))
    monkeypatch.setitem(globals(), "WORKSPACE", own)
    rng = np.random.default_rng(7)
    a, b = np.where(rng.random((2, 6, 6)) < 0.2, 1.0, 0.0)
    A, B = Tensor(STORED_ROWS, a), Tensor(STORED_ROWS, b)
    for function in (rows_of_product, above_a_fill):
        found = kernel(function, backend=backend)(Tensor(STORED_ROWS, (6, 6)), A, B)
        np.testing.assert_array_equal(found.to_numpy(), a @ b)


def left_by_a_loop(y, n):
    w = np.zeros(3)
    for k in range(n):
        w[:] = 0
        for i in range(3):
            w[i] = k + 1
    for i in range(3):
        y[i] = w[i]


def left_by_a_turn(y, n):
    w = np.zeros(3)
    for k in range(n):
        y[k] += w[0]
        w[:] = 0
        w[0] = k + 1


def left_under_a_condition(y, n):
    w = np.zeros(3)
    w[2] = 5
    for k in range(n):
        if k == 1:
            w[:] = 0
            w[1] = 7
    y[1] = w[1] + 10 * w[2]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [left_by_a_loop, left_by_a_turn, left_under_a_condition])
def test_what_an_inner_block_leaves_is_read_after_it(function, backend):
    for n in range(4):
        y, wanted = np.zeros(4), np.zeros(4)
        kernel(backend=backend)(function)(y, n)
        function(wanted, n)
        assert y.tolist() == wanted.tolist()
