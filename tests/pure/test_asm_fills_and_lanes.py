"""Settled variables, fills that a loop takes over, and lanes."""

import numpy as np
import pytest

from finch_core.assembly_text import block_text
from finch_core.builder import Builder, Names
from finch_core.dtypes import FLOAT64, INTP
from finch_core.expressions import Buffer, Load, Var, lift
from finch_core.optimize import PASSES, optimize
from finch_core.optimize.lanes import WORTHWHILE
from finch_core.run_block import run_block
from finch_core.typing_pass import typed

X, Y, IDX = Buffer("x", FLOAT64), Buffer("y", FLOAT64, True), Buffer("idx", INTP)
N = Var("n", INTP)
ALL = {name for name, _ in PASSES}


@pytest.fixture
def b():
    return Builder(Names(["n"]), constants=(N,))


def only(name, block):
    return optimize(block, disabled=ALL - {name})


def agree(block, values):
    """``block`` with all passes, after checking that they keep its meaning."""
    new = optimize(block)
    before, after = run_block(block, values), run_block(new, values)
    for name, value in before[1].items():
        np.testing.assert_array_equal(after[1][name], value)
    return block_text(new)


def test_a_variable_assigned_once_is_its_value_from_there(b):
    size = b.var("size", 0)
    b.assign(size, N)
    b.fill(Y, 0, size, 1.0)
    text = block_text(only("settled", typed(b.finish())))
    assert "fill(y, 0, n, 1.0)" in text


def test_a_variable_assigned_twice_is_not_settled(b):
    size = b.var("size", 0)
    b.assign(size, N)
    b.assign(size, N + 1)
    b.fill(Y, 0, size, 1.0)
    block = typed(b.finish())
    assert only("settled", block) is block


def test_a_loop_that_stores_all_elements_takes_the_fill_over(b):
    b.fill(Y, 0, N, 2.0)
    with b.for_("i", 0, N) as i:
        s = b.var("s", Load(Y, i))
        b.assign(s, s + Load(X, i))
        b.store(Y, i, s)
    text = agree(typed(b.finish()), {N: 3, X: [1.0, 2.0, 3.0], Y: [7.0, 7.0, 7.0]})
    assert "fill" not in text


@pytest.mark.parametrize("spoil", ["condition", "other index", "shorter", "break"])
def test_the_fill_stays_where_an_element_may_keep_it(b, spoil):
    b.fill(Y, 0, N, 2.0)
    with b.for_("i", 0, N - 1 if spoil == "shorter" else N) as i:
        if spoil == "condition":
            with b.if_(Load(X, i) > 1.0):
                b.store(Y, i, 5.0)
        elif spoil == "other index":
            b.store(Y, N - 1 - i, Load(X, i))
        else:
            if spoil == "break":
                with b.if_(Load(X, i) > 1.0):
                    b.break_()
            b.store(Y, i, Load(X, i))
    text = agree(typed(b.finish()), {N: 3, X: [1.0, 2.0, 3.0], Y: [7.0, 7.0, 7.0]})
    assert "fill" in text


def summed(b, index, start=0):
    s = b.var("s", 0.0)
    with b.for_("j", start, N) as j:
        b.assign(s, s + Load(X, j) * Load(X, index(j)))
    b.store(Y, 0, s)
    return typed(b.finish())


def test_a_contiguous_sum_gets_lanes(b):
    text = block_text(only("lanes", summed(b, lambda j: j + 3)))
    assert "for j in range(0, n):  # lanes: " in text


def test_a_sum_that_is_known_to_be_short_stays_as_it_is(b):
    s = b.var("s", 0.0)
    for stop in (WORTHWHILE - 1, WORTHWHILE):
        with b.for_("j", 0, stop) as j:
            b.assign(s, s + Load(X, j))
    text = block_text(only("lanes", typed(b.finish())))
    assert text.count("# lanes") == 1


def test_a_sum_through_indices_stays_as_it_is(b):
    block = summed(b, lambda j: Load(IDX, j))
    assert only("lanes", block) is block


def test_a_sum_backwards_stays_as_it_is(b):
    block = summed(b, lambda j: lift(5) - j)
    assert only("lanes", block) is block


def test_a_loop_that_stores_gets_no_lanes(b):
    with b.for_("j", 0, N) as j:
        b.store(Y, j, Load(X, j) + 1.0)
    block = typed(b.finish())
    assert only("lanes", block) is block


def test_a_sum_that_is_read_inside_gets_no_lanes(b):
    s, t = b.var("s", 0.0), b.var("t", 0.0)
    with b.for_("j", 0, N) as j:
        b.assign(s, s + Load(X, j))
        b.assign(t, t + s)
    b.store(Y, 0, t)
    block = typed(b.finish())
    assert only("lanes", block) is block
