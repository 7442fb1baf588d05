"""Room for what all branches of a turn append is made once, at the head of the turn."""

import numpy as np
import pytest

from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

X = Buffer("x", FLOAT64)
VAL, IDX = Buffer("val", FLOAT64, growable=True), Buffer("idx", INTP, growable=True)
N = Var("n", INTP)
ALL = {name for name, _ in PASSES}


def only(block):
    return optimize(block, disabled=ALL - {"growth_hoisting"})


def make_room(b, stored, room, first=4):
    with b.if_(stored >= room):
        more = b.let("more", (room * 2).max(first))
        b.grow(VAL, more)
        b.grow(IDX, more)
        b.assign(room, more)


def append(b, stored, room, index, value, first=4):
    make_room(b, stored, room, first)
    b.store(VAL, stored, value)
    b.store(IDX, stored, index)
    b.assign(stored, stored + 1)


def branching(before=None, third=None, test=None):
    """All of ``x`` is appended: what is negative with its opposite sign, zeros as ones."""
    b = Builder(Names(["n"]), constants=(N,))
    stored, room = b.var("stored", 0), b.var("room", 0)
    with b.for_("i", 0, N) as i:
        x = b.let("x_i", Load(X, i))
        if before is not None:
            before(b, stored, room)
        with b.if_((x < 0.0) if test is None else test(x, room)):
            append(b, stored, room, i, 0.0 - x)
        with b.else_():
            with b.if_(x > 0.0):
                append(b, stored, room, i, x)
            with b.else_():
                if third is None:
                    append(b, stored, room, i, 1.0)
                else:
                    third(b, stored, room, i)
    return typed(b.finish())


def run(block, x):
    values = {N: len(x), X: np.array(x), VAL: np.zeros(0), IDX: np.zeros(0, np.int64)}
    found = run_block(block, values)[1]
    return found["val"][: len(x)], found["idx"][: len(x)]


def test_room_is_made_once():
    text = block_text(only(branching()))
    assert text.count("grow(val") == 1
    assert (
        """\
for i in range(0, n):
    if stored >= room:
        more: int64 = max(room * 2, 4)
        grow(val, more)
        grow(idx, more)
        room = more
    x_i: float64 = x[i]
    if x_i < 0.0:
        val[stored] = 0.0 - x_i
"""
        in text
    )


@pytest.mark.parametrize("n", [0, 1, 4, 5, 9])
def test_what_is_appended_stays(n):
    x = np.random.default_rng(n).integers(-1, 2, n).astype(float)
    val, idx = run(only(branching()), x)
    np.testing.assert_array_equal(val, np.where(x == 0, 1.0, abs(x)))
    np.testing.assert_array_equal(idx, np.arange(n))


LEFT = {
    "a branch appends nothing": {"third": lambda b, stored, room, i: None},
    "a branch makes other room": {
        "third": lambda b, stored, room, i: append(b, stored, room, i, 1.0, first=8)
    },
    "the test reads the room": {"test": lambda x, room: (x < 0.0).and_(room < 9)},
}


@pytest.mark.parametrize("why", LEFT)
def test_room_is_made_in_branches_where(why):
    text = block_text(only(branching(**LEFT[why])))
    assert text.count("grow(val") > 1
    assert text.index("if x_i < 0.0") < text.index("grow(val")


BEFORE = {
    "a turn may fail before": lambda b, stored, room: b.fail(1),
    "it changes how much there is": lambda b, stored, room: b.assign(stored, stored + 1),
    "it reads how much room there is": lambda b, stored, room: b.let("left", room - stored),
}


@pytest.mark.parametrize("why", BEFORE)
def test_room_is_not_made_first_where(why):
    text = block_text(only(branching(BEFORE[why])))
    assert text.count("grow(val") == 1
    assert text.index("x_i: float64") < text.index("grow(val")
