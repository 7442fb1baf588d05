"""An append under a condition stores always, and counts where the condition holds."""

import numpy as np
import pytest

from finch_core.ir import primitives as prim
from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var, call
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

X, Y = Buffer("x", FLOAT64), Buffer("y", FLOAT64)
VAL, IDX = Buffer("val", FLOAT64, growable=True), Buffer("idx", INTP, growable=True)
N, STORED = Var("n", INTP), Var("stored", INTP)
ALL = {name for name, _ in PASSES}
DATA = [0.5, -1.0, 3.0, 2.0, -4.0, 0.0, 7.0]


def only(block):
    return optimize(block, disabled=ALL - {"branchless_appends"})


def block_of(value=None, cond=None, check=True, after=None, first=None):
    """What is positive in ``x`` is appended."""
    b = Builder(Names(["n"]), constants=(N,))
    stored, room = b.var("stored", 0), b.var("room", 0)
    with b.for_("i", 0, N) as i:
        if check:
            with b.if_(stored >= room):
                more = b.let("more", (room * 2).max(4))
                b.grow(VAL, more)
                b.grow(IDX, more)
                b.assign(room, more)
        if first is not None:
            first(b, stored)
        with b.if_((Load(X, i) > 0.0) if cond is None else cond(i)):
            b.store(VAL, stored, Load(X, i) if value is None else value(i, stored))
            b.store(IDX, stored, i)
            b.assign(stored, stored + 1)
            if after is not None:
                after(b, stored)
    return typed(b.finish())


def run(block):
    values = {N: len(DATA), X: np.array(DATA), Y: np.array(DATA) + 1}
    found = run_block(block, {**values, VAL: np.zeros(0), IDX: np.zeros(0, np.int64)})[1]
    count = sum(x > 0 for x in DATA)
    return found["val"][:count].tolist(), found["idx"][:count].tolist()


def test_the_branch_becomes_a_count():
    block = block_of()
    assert """\
    keep: bool = x[i] > 0.0
    val[stored] = x[i]
    idx[stored] = i
    stored += int64(keep)""" in block_text(only(block))
    assert run(only(block)) == run(block) == ([0.5, 3.0, 2.0, 7.0], [0, 2, 3, 6])


def test_values_of_what_is_loaded_are_computed():
    block = block_of(value=lambda i, stored: Load(X, i) * 2.0 + 1.0)
    assert "keep" in block_text(only(block))
    assert run(only(block)) == run(block)


@pytest.mark.parametrize(
    "changes",
    [
        {"check": False},  # there may be no room where the condition does not hold
        {"value": lambda i, stored: Load(Y, i)},  # loaded only where the condition holds
        {"value": lambda i, stored: call(prim.truediv, 1.0, Load(X, i))},  # costly
        {"value": lambda i, stored: Load(VAL, stored)},  # what is beyond the counter is read
        {"cond": lambda i: (Load(X, i) < 9.0).and_(Load(Y, i) > 1.0),
         "value": lambda i, stored: Load(Y, i)},  # loaded only where the first part holds
        {"after": lambda b, stored: b.store(X, 0, 1.0)},  # more than an append
        {"first": lambda b, stored: b.assign(stored, stored + 1)},  # the room is taken
    ],
)  # fmt: skip
def test_other_branches_stay(changes):
    block = block_of(**changes)
    assert only(block) is block


def test_a_condition_of_two_parts():
    both = {"cond": lambda i: (Load(X, i) < 3.0).and_(Load(X, i) > 0.0)}
    block = block_of(**both)
    assert "keep" in block_text(only(block))
    assert run(only(block))[0][:2] == run(block)[0][:2] == [0.5, 2.0]
