"""Variables are declared where they are first set; what is overwritten unread is not set; and what
a flag guards stands where the flag is raised."""

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


def only(name, block):
    return block_text(optimize(block, disabled=ALL - {name}))


def same_without(name, block, n=3):
    """The block does what it does without the pass."""
    values = {X: np.array([1.0, -2.0, 3.0, 4.0]), Y: np.zeros(4), N: n}
    results = [
        run_block(optimize(block, disabled), values)[1]["y"] for disabled in (set(), {name}, ALL)
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def sums(*, read_first=False, used_after=False):
    """A scalar that starts anew in each turn, and is declared outside."""
    b = Builder(Names(["n"]), constants=(N,))
    t = b.var("t", 7.0)
    with b.for_("i", 0, N) as i:
        if read_first:
            b.store(Y, i, t)
        b.assign(t, 0.0)
        b.assign(t, 1.0)
        with b.for_("k", 0, N) as k:
            b.assign(t, t + Load(X, k))
        b.store(Y, i, t)
    if used_after:
        b.store(Y, 3, t)
    return typed(b.finish())


def test_a_scalar_of_a_loop_is_declared_in_it_and_set_once():
    lines = only("sinking", sums()).splitlines()
    assert lines[:2] == ["for i in range(0, n):", "    mut t: float64 = 1.0"]
    assert sum(line.strip().startswith("t = ") for line in lines) == 0
    same_without("sinking", sums())


@pytest.mark.parametrize("case", ["read_first", "used_after"])
def test_a_variable_that_is_seen_outside_stays(case):
    block = sums(**{case: True})
    assert only("sinking", block).startswith("mut t: float64 = 7.0\n")
    same_without("sinking", block)


def test_a_value_that_is_read_or_may_stay_is_set():
    b = Builder(Names(["n"]), constants=(N,))
    t = b.var("t", 1.0)
    b.store(Y, 0, t)
    b.assign(t, 2.0)
    with b.if_(N > 2):
        b.assign(t, 3.0)
    b.store(Y, 1, t)
    b.assign(t, t + 1.0)
    b.store(Y, 2, t)
    block = typed(b.finish())
    assert only("sinking", block) == block_text(block)
    same_without("sinking", block)


def appended(*, else_raised=False, between=False, tested_twice=False):
    """Something is stored under a condition, and counted behind it."""
    b = Builder(Names(["n"]), constants=(N,))
    count = b.var("count", 0)
    with b.for_("k", 0, N) as k:
        dirty = b.var("dirty", False)
        with b.if_(Load(X, k) > 0.0):
            b.store(Y, count, Load(X, k))
            b.assign(dirty, True)
        if else_raised:
            with b.else_():
                b.assign(dirty, True)
        if between:
            b.store(Y, 3, 9.0)
        with b.if_(dirty):
            b.assign(count, count + 1)
        if tested_twice:
            with b.if_(dirty):
                b.store(Y, 2, 5.0)
    return typed(b.finish())


def test_what_a_flag_guards_stands_where_it_is_raised():
    found = block_text(optimize(appended(), disabled=ALL - {"jump_threading", "dead_code"}))
    assert "dirty" not in found
    assert found.count("if ") == 1
    same_without("jump_threading", appended())


@pytest.mark.parametrize("case", ["else_raised", "between", "tested_twice"])
def test_a_flag_that_something_else_has_to_do_with_is_asked(case):
    block = appended(**{case: True})
    assert only("jump_threading", block) == block_text(block)
    same_without("jump_threading", block)


def test_a_loop_of_one_turn_is_that_turn():
    b = Builder(Names(["n"]), constants=(N,))
    with b.for_("k", 1, 2) as k:
        b.store(Y, k, Load(X, k))
    b.fill(Y, 2, 3, 1.0)
    found = block_text(b.finish())
    assert "for" not in found
    assert "y[2] = 1.0" in found
    with b.for_("k", 1, 2):
        b.break_()
    assert "for" in block_text(b.finish())
