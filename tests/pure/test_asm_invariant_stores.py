"""Flags that a loop raises in every turn are raised once, behind it."""

import numpy as np
import pytest

from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

X, Y = Buffer("x", FLOAT64), Buffer("y", FLOAT64)
N = Var("n", INTP)
ALL = {name for name, _ in PASSES}


def accumulate(*, read: bool = False, leave: bool = False):
    """Sum ``x``, raising a flag in each turn, and store the sum where it was raised."""
    b = Builder(Names(["n"]), constants=(N,))
    flag, total = b.var("dirty", False), b.var("total", 0.0)
    with b.for_("k", 0, N) as k:
        b.assign(total, total + Load(X, k))
        if leave:
            with b.if_(Load(X, k) < 0.0):
                b.break_()
        if read:
            with b.if_(flag):
                b.assign(total, total + 1.0)
        b.assign(flag, True)
    with b.if_(flag):
        b.store(Y, 0, total)
    return typed(b.finish())


def raised_only(block):
    return optimize(block, disabled=ALL - {"invariant_stores"})


def test_it_is_raised_behind_the_loop_where_the_loop_runs():
    text = block_text(raised_only(accumulate()))
    loop = text[text.index("for k") :].split("\n")
    assert loop[1].strip().startswith("total")
    assert "if 0 < n" in loop[2]
    assert "dirty = True" in loop[3]


@pytest.mark.parametrize("why", ["read", "leave"])
def test_it_stays_where_the_loop_reads_it_or_may_be_left(why):
    block = accumulate(**{why: True})
    assert block_text(raised_only(block)) == block_text(block)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_the_meaning_stays(n):
    block = accumulate()
    values = {N: n, X: np.arange(1.0, 6.0), Y: np.array([-1.0])}
    before, after = (run_block(b, values)[1]["y"] for b in (block, optimize(block)))
    np.testing.assert_array_equal(before, after)
    assert after[0] == (sum(range(1, n + 1)) if n else -1)


def test_the_sum_is_then_computed_in_lanes():
    assert "# lanes" in block_text(optimize(accumulate()))
    assert "# lanes" not in block_text(optimize(accumulate(), disabled={"invariant_stores"}))
