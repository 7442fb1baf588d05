"""A loop that stores to an element that it reads in every turn is split at that turn."""

import numpy as np
import pytest

from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

D, X = Buffer("D", FLOAT64), Buffer("x", FLOAT64)
N, START, STOP = (Var(name, INTP) for name in ("n", "a", "b"))
ALL = {name for name, _ in PASSES}


def rows(start, stop, value, at=None, also=None):
    """``D[i, j] = value(D[i, j], D[i, at], x[j])`` for all ``i``, and ``j`` in a range."""
    b = Builder(Names(["n", "a", "b"]), constants=(N, START, STOP))
    with b.for_("k", 0, N) as k, b.for_("i", 0, N) as i, b.for_("j", start(k), stop(k)) as j:
        here, there = Load(D, i * N + j), Load(D, i * N + (k if at is None else at(k, j)))
        b.store(D, i * N + j, value(here, there, Load(X, j)))
        if also is not None:
            also(b, i, j)
    return typed(b.finish())


def split(block):
    return optimize(block, disabled=ALL - {"index_set_splitting"})


def subtracted(here, there, x):
    return here - there * x


def least(here, there, x):
    return here.min(there + x)


WHOLE = (lambda k: START, lambda k: STOP)
BEHIND = (lambda k: k + 1, lambda k: STOP)


def test_a_turn_that_is_not_in_the_loop_needs_no_split():
    text = block_text(split(rows(*BEHIND, subtracted)))
    assert (
        """\
    for i in range(0, n):
        D_i_n_k: float64 = D[i * n + k]
        for j in range(k + 1, b):
            D[i * n + j] -= D_i_n_k * x[j]
"""
        in text
    )


def test_three_parts():
    text = block_text(split(rows(*WHOLE, subtracted)))
    assert text.count("for j in") == 3
    assert "j_before: int64 = min(max(k, a), b)" in text
    assert "for j in range(a, b):" in text
    assert "for j in range(j_after, b):" in text


@pytest.mark.parametrize("value", [subtracted, least])
@pytest.mark.parametrize("ends", [WHOLE, BEHIND])
@pytest.mark.parametrize(("a", "b"), [(0, 5), (1, 4), (3, 2), (0, 0), (4, 5)])
def test_the_same_is_stored(value, ends, a, b):
    rng = np.random.default_rng(a)
    for special in (None, np.nan, -0.0):
        data, x = rng.integers(-2, 3, 25) / 2, rng.integers(-2, 3, 5) / 2
        if special is not None:
            data[::3] = special
        block = rows(*ends, value)
        kept, new = (
            run_block(found, {N: 5, START: a, STOP: b, D: data.copy(), X: x})[1]["D"]
            for found in (block, split(block))
        )
        np.testing.assert_array_equal(new.view(np.int64), kept.view(np.int64))


LEFT = {
    "the place varies": rows(*WHOLE, subtracted, at=lambda k, j: j // 2),
    "another store": rows(*WHOLE, subtracted, also=lambda b, i, j: b.store(D, i, 1.0)),
    "the place is not read in every turn": rows(
        *WHOLE, lambda here, there, x: here.max(0.0), at=lambda k, j: k
    ),
}


@pytest.mark.parametrize("why", LEFT)
def test_a_loop_stays_whole_where(why):
    assert split(LEFT[why]) is LEFT[why]
