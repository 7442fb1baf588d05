"""Checks that only fail under what no loop changes are tested before it."""

import numpy as np
import pytest

from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var, lift
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

AT, Y = Buffer("at", np.dtype(np.uint8)), Buffer("y", FLOAT64)
N, M = Var("n", INTP), Var("m", INTP)
OTHERS = {name for name, _ in PASSES} - {"unswitching"}


def counting(first, nested=False):
    """A loop that counts values, with a check of which ``first`` is the first part."""
    b = Builder(Names(["n", "m"]), constants=(N, M))

    def count(i):
        at = b.let("k", Load(AT, i), INTP)
        with b.if_(first(at).and_(at >= M)):
            b.fail(1, at)
        b.store(Y, at, Load(Y, at) + 1.0)

    with b.for_("i", 0, N) as i:
        if nested:
            with b.if_(Load(AT, i).cast(INTP) < 2):
                count(i)
        else:
            count(i)
    return typed(b.finish())


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("m", [2, 3])
def test_the_loop_without_the_check_runs_where_it_cannot_fail(nested, m):
    block = counting(lambda at: lift(2) >= M, nested)
    new = optimize(block, disabled=OTHERS)
    text = block_text(new)
    assert text.startswith("if 2 >= m:")
    assert text.count("fail(1") == 1
    assert text.count("for i in range(0, n):") == 2
    values = {N: 3, M: m, AT: [0, 1, 0], Y: [0.0] * 3}
    before, after = run_block(block, values), run_block(new, values)
    np.testing.assert_array_equal(after[1]["y"], before[1]["y"])


def test_it_fails_where_it_did():
    block = counting(lambda at: lift(2) >= M)
    values = {N: 3, M: 2, AT: [0, 2, 0], Y: [0.0] * 3}
    before, after = run_block(block, values), run_block(optimize(block), values)
    assert before[0] == after[0]


@pytest.mark.parametrize("first", [lambda at: at >= 1, lambda at: Load(Y, lift(0)) < 5.0])
def test_a_check_of_what_a_loop_changes_stays(first):
    block = counting(first)
    assert optimize(block, disabled=OTHERS) is block
