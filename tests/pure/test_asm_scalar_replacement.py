"""Elements that only some turns of a loop store."""

import numpy as np
import pytest

from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

X, Y = Buffer("x", FLOAT64), Buffer("y", FLOAT64, True)
N = Var("n", INTP)
OTHERS = {name for name, _ in PASSES} - {"scalar_replacement"}
VALUES = {N: 3, X: [1.0, 2.0, 3.0], Y: [7.0, 7.0, 7.0]}


@pytest.fixture
def b():
    return Builder(Names(["n"]), constants=(N,))


def agree(block, disabled=()):
    """``block`` after passes, after checking that they keep its meaning."""
    new = optimize(block, disabled)
    before, after = run_block(block, VALUES), run_block(new, VALUES)
    for name, value in before[1].items():
        np.testing.assert_array_equal(after[1][name], value)
    return block_text(new)


@pytest.mark.parametrize("twice", [False, True])
def test_an_element_that_some_turns_store_is_stored_at_the_end_of_each(b, twice):
    b.fill(Y, 0, N, 2.0)
    with b.for_("i", 0, N) as i:
        with b.if_(Load(X, i) > 1.0):
            b.store(Y, i, Load(Y, i) + Load(X, i))
        with b.else_():
            if twice:
                b.store(Y, i, Load(Y, i) * 0.5)
    text = agree(typed(b.finish()), {N: 3, X: [1.0, 2.0, 3.0], Y: [7.0, 7.0, 7.0]})
    assert "fill" not in text
    assert text.count("y[i] = ") == 1


@pytest.mark.parametrize("spoil", ["no fill", "other index", "other end", "break", "failure"])
def test_an_element_stays_in_memory_where_it_may_be_read_or_left(b, spoil):
    if spoil != "no fill":
        b.fill(Y, 0, N, 2.0)
    with b.for_("i", 0, N - 1 if spoil == "other end" else N) as i:
        with b.if_(Load(X, i) > 1.0):
            b.store(Y, i, Load(Y, N - 1 - i if spoil == "other index" else i) + 1.0)
        with b.if_(Load(X, i) > 5.0):
            if spoil == "break":
                b.break_()
            if spoil == "failure":
                b.fail(1)
    block = typed(b.finish())
    assert optimize(block, OTHERS) is block
    agree(block)


def test_what_comes_between_may_use_something_else(b):
    b.fill(Y, 0, N, 2.0)
    b.store(X, 0, 4.0)
    with b.for_("i", 0, N) as i, b.if_(Load(X, i) > 2.0):
        b.store(Y, i, 5.0)
    assert "fill" not in agree(typed(b.finish()))
