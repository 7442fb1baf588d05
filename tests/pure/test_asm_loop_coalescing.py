"""Loops over the ranges between successive pointers become one loop."""

import numpy as np
import pytest

from finch_core.ir.assembly import Block, Function, Return, Store
from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Invoke, Literal, Load, Var
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

INT32 = np.dtype(np.int32)
P, Q = (Buffer(name, INT32, ascending=True) for name in ("high", "low"))
LOOSE, V = Buffer("loose", INT32), Buffer("v", FLOAT64)
A, N = Var("a", INTP), Var("n", INTP)
DATA, ZERO = Buffer("data", FLOAT64), Literal(0, INTP)
STORING = Function(
    "put", (DATA,), INTP, Block((Store(DATA, ZERO, Literal(7.0, FLOAT64)), Return(ZERO)))
)
ALL = {name for name, _ in PASSES}


def nest(why: str = "", deep: bool = False):
    """Double the elements between pointers; ``why`` names what keeps the loops apart."""
    b = Builder(Names(["a", "n"]), constants=(A, N))
    pointers = LOOSE if why == "pointers" else P
    with b.for_("i", A, N) as i:
        if why == "effect":
            b.let("stored", Invoke(STORING, (V,)))
        begin = b.let("begin", Load(pointers, i).cast(INTP))
        end = b.let("end", Load(pointers, i + (2 if why == "gap" else 1)).cast(INTP))
        with b.for_("q", begin, end) as q:
            if deep:
                with b.for_("r", Load(Q, q).cast(INTP), Load(Q, q + 1).cast(INTP)) as r:
                    b.store(V, r, Load(V, r) * 2.0)
            else:
                b.store(V, q, Load(V, q) * 2.0 + (i if why == "index" else 0.0))
            if why == "left":
                with b.if_(Load(V, q) > 6.0):
                    b.break_()
        if why == "more":
            b.store(V, 0, 1.0)
    if why == "changed":
        b.store(P, 0, 0)
    return typed(b.finish())


def coalesced(block):
    return optimize(block, disabled=ALL - {"loop_coalescing"})


def test_one_loop_is_left():
    text = block_text(coalesced(nest()))
    assert "for q in range(int64(high[a]), int64(high[n])):" in text
    assert "for i" not in text
    text = block_text(coalesced(nest(deep=True)))
    assert "for r in range(int64(low[int64(high[a])]), int64(low[int64(high[n])])):" in text
    assert "for i" not in text


@pytest.mark.parametrize("why", ["index", "left", "more", "gap", "changed", "pointers", "effect"])
def test_loops_stay_apart(why):
    block = nest(why)
    assert block_text(coalesced(block)) == block_text(block)


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize(("a", "n"), [(0, 3), (1, 3), (2, 2), (3, 0), (9, 0)])
def test_the_meaning_stays(a, n, deep):
    block = nest(deep=deep)
    values = {
        A: a, N: n, P: np.array([0, 2, 2, 5], np.int32), Q: np.array([0, 1, 3, 3, 4, 6], np.int32),
        V: np.arange(1.0, 7.0),
    }  # fmt: skip
    before, after = (run_block(b, values)[1]["v"] for b in (block, coalesced(block)))
    np.testing.assert_array_equal(before, after)
