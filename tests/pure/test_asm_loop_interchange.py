"""Sums whose terms are contiguous from sum to sum are computed side by side, to the same bits."""

import numpy as np
import pytest

from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var, lift
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

A, X, Y = (Buffer(name, FLOAT64) for name in ("A", "x", "y"))
K = Buffer("k", INTP)
N, M = (Var(name, INTP) for name in ("n", "m"))
ALL = {name for name, _ in PASSES}


def sums(term, start=0.0, ends=None, store=None):
    """``y[i] = start + term(i, 0) + term(i, 1) + ...`` for all ``i``."""
    b = Builder(Names(["n", "m"]), constants=(N, M))
    with b.for_("i", 0, N) as i:
        first, last = b.var("first", 0), b.var("last", M)
        if ends is not None:
            ends(b, i, first, last)
        t = b.var("t", start(i) if callable(start) else start)
        with b.for_("q", first, last) as q:
            b.assign(t, t + term(i, q))
        b.store(Y, i if store is None else store(i), t)
    return typed(b.finish())


def exchanged(block):
    return optimize(block, disabled=ALL - {"loop_interchange"})


def by_columns(i, q):
    return Load(A, q * N + i) * Load(X, q)


def test_loops_are_exchanged():
    text = block_text(exchanged(sums(by_columns)))
    assert "for i_strip in range(0, (i_high - i_low + 1023) // 1024):" in text
    assert "for q_group in range(0, (m + 31) // 32):" in text
    assert "for i in range(i_start, i_stop):  # jam" in text


@pytest.mark.parametrize(
    "block",
    [
        sums(lambda i, q: Load(A, i * M + q) * Load(X, q)),  # contiguous from term to term
        sums(lambda i, q: Load(A, i + q)),  # both
        sums(lambda i, q: Load(A, q * N + i) * Load(X, Load(K, i))),  # a gather from sum to sum
        sums(lambda i, q: Load(Y, q * N + i)),  # reads what it stores
        sums(by_columns, store=lambda i: i * 2),
        sums(by_columns, start=lambda i: Load(Y, N - i)),
        sums(by_columns, ends=lambda b, i, first, last: b.assign(last, i)),
    ],
    ids=["rows", "both", "gather", "read", "stride", "start", "triangle"],
)
def test_others_stay(block):
    assert exchanged(block) is block


def clipped(b, i, first, last):
    """Near the ends of ``i`` the sums have fewer terms."""
    with b.if_((i - 3 < 0).or_(i + 5 >= N)):
        b.assign(first, 1)
        b.assign(last, (last - 1).max(1))


@pytest.mark.parametrize("ends", [None, clipped])
@pytest.mark.parametrize("start", [0.0, lambda i: Load(X, lift(0)) * 2, lambda i: Load(Y, i)])
@pytest.mark.parametrize("n", [0, 1, 7, 15, 16, 24, 40, 1030])
def test_the_same_is_stored(ends, start, n):
    rng = np.random.default_rng(n)
    for m in (*range(9), 31, 32, 33, 70):
        block = sums(by_columns, start, ends)
        changed = exchanged(block)
        assert changed is not block
        data = {A: rng.random(n * m), X: rng.random(max(m, 1)), N: n, M: m}
        y = rng.random(n)
        kept, new = (run_block(found, {**data, Y: y.copy()})[1]["y"] for found in (block, changed))
        np.testing.assert_array_equal(kept, new)


def test_what_is_invariant_is_declared_once():
    block = sums(by_columns, ends=lambda b, i, first, last: b.let("count", Load(K, lift(0)).max(0)))
    new = exchanged(block)
    assert new != block
    assert block_text(new).count("count: int64") == 1
    values = {A: np.arange(12.0), X: np.arange(3.0), Y: np.zeros(4), K: [2], N: 4, M: 3}
    assert run_block(new, values)[1]["y"].tolist() == run_block(block, values)[1]["y"].tolist()
