"""What the turn before has loaded is not loaded again, in loops with loops inside."""

import numpy as np
import pytest

from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var, lift
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

PTR, SHORT = Buffer("ptr", INTP), Buffer("short", np.dtype(np.int32))
VAL, OUT = Buffer("val", FLOAT64), Buffer("out", FLOAT64)
N, M = Var("n", INTP), Var("m", INTP)
ALL = {name for name, _ in PASSES}


def only(block):
    return optimize(block, disabled=ALL - {"predictive_commoning"})


def in_turn(b, i):
    return b.let("q", Load(PTR, i)), b.let("q_stop", Load(PTR, i + 1))


def rows(bounds=in_turn, first=None, then=None, start=0, stop=N):
    """A sum of each row."""
    b = Builder(Names(["n", "m"]), constants=(N, M))
    with b.for_("i", start, stop) as i:
        if first is not None:
            first(b, i)
        low, high = bounds(b, i)
        total = b.var("total", 0.0)
        with b.for_("p", low, high) as p:
            b.assign(total, total + Load(VAL, p))
        b.store(OUT, i, total)
        if then is not None:
            then(b, i)
    return typed(b.finish())


def results(block, n, start=0):
    ptr = np.cumsum([0, *range(n)])
    state = {
        N: n, M: start, PTR: ptr, SHORT: ptr.astype(np.int32),
        VAL: np.arange(1.0, ptr[-1] + 2), OUT: np.zeros(max(n, 1)),
    }  # fmt: skip
    status, after = run_block(block, state)
    assert status == 0
    return after["out"].tolist()


def same(block, start=0):
    """The block after the pass, which computes the same."""
    after = only(block)
    for n in range(start, 5):
        assert results(after, n, start) == results(block, n, start)
    return block_text(after)


def test_a_row_begins_where_the_one_before_ended():
    assert same(rows()).startswith("""\
mut q_next: int64 = ifelse(0 < n, ptr[0], 0)
for i in range(0, n):
    q: int64 = q_next
    q_stop: int64 = ptr[i + 1]
    q_next = q_stop
    mut total: float64 = 0.0
""")


def test_in_either_order():
    def ended(b, i):
        high = b.let("q_stop", Load(PTR, i + 1))
        return b.let("q", Load(PTR, i)), high

    assert same(rows(ended)).startswith("""\
mut q_next: int64 = ifelse(0 < n, ptr[0], 0)
for i in range(0, n):
    q_stop: int64 = ptr[i + 1]
    q: int64 = q_next
    q_next = q_stop
""")


def test_casts_and_other_beginnings():
    def narrow(b, i):
        at = [Load(SHORT, place).cast(INTP) for place in (i, i + 1)]
        return b.let("q", at[0]), b.let("q_stop", at[1])

    assert "q_next: int64 = ifelse(m < n, int64(short[m]), 0)" in same(rows(narrow, start=M), 2)


def test_rows_that_do_not_follow_one_another_are_loaded():
    def apart(b, i):
        return b.let("q", Load(PTR, i)), b.let("q_stop", Load(PTR, i) + 1)

    assert "next" not in same(rows(apart))


def changes(b, i):
    b.store(PTR, lift(0), lift(0))


def ends(b, i):
    with b.if_(i >= M):
        b.break_()


@pytest.mark.parametrize(("first", "then"), [(None, changes), (ends, None)])
def test_what_changes_and_what_may_not_be_loaded_is_left(first, then):
    assert "next" not in block_text(only(rows(first=first, then=then)))


def test_a_turn_that_ends_the_loop_after_its_loads():
    def enough(b, i):
        with b.if_(i >= 2):
            b.break_()

    assert "q_next" in same(rows(then=enough))


def test_loops_without_loops_are_left_to_c_compilers():
    b = Builder(Names(["n", "m"]), constants=(N, M))
    with b.for_("i", 0, N) as i:
        b.store(
            OUT, i, (b.let("high", Load(PTR, i + 1)) - b.let("low", Load(PTR, i))).cast(FLOAT64)
        )
    assert "next" not in same(typed(b.finish()))


def test_loops_around_loops_around_loops_are_left():
    b = Builder(Names(["n", "m"]), constants=(N, M))
    with b.for_("i", 0, N) as i:
        low, high = in_turn(b, i)
        with b.for_("p", low, high) as p, b.for_("k", 0, M) as k:
            b.store(OUT, i, Load(VAL, p) + k.cast(FLOAT64))
    assert "next" not in same(typed(b.finish()))


def test_what_is_kept_is_kept_once_more():
    """Three loads, of which each is the next one of the turn before."""

    def windows(b, i):
        low = [b.let(f"q{k}", Load(PTR, i + k)) for k in range(3)]
        b.store(OUT, i, (low[2] - low[0]).cast(FLOAT64))
        return low[:2]

    text = same(rows(windows, stop=N - 1), 2)
    assert "q0: int64 = q0_next" in text
    assert "q1: int64 = q1_next" in text


def test_two_buffers():
    def narrow(b, i):
        high = b.let("r_stop", Load(SHORT, i + 1).cast(INTP))
        b.store(OUT, i, (high - b.let("r", Load(SHORT, i).cast(INTP))).cast(FLOAT64))

    assert same(rows(first=narrow)).count("_next = ") == 2
