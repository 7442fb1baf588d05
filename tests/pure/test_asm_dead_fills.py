"""Room for what is appended is not filled where each element is stored before it counts."""

import numpy as np
import pytest

from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var, lift
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

X, OTHER = Buffer("x", FLOAT64), Buffer("other", FLOAT64)
VAL = Buffer("val", FLOAT64, growable=True)
N, KEPT = Var("n", INTP), Var("kept", INTP)
ALL = {name for name, _ in PASSES}


def only(block):
    return optimize(block, disabled=ALL - {"dead_fills"})


def appending(
    value=lambda old, x: x, between=None, then=None, after=None, room=None, under=None, step=1,
    to=VAL, fill=0.5,
):  # fmt: skip
    """What is positive in ``x`` is appended to ``val``, or to another buffer."""
    b = Builder(Names(["n", "kept"]), constants=(N,))
    stored = b.var("stored", 0)
    room = b.var("room", 0) if room is None else room
    with b.for_("i", 0, N) as i, b.if_(Load(X, i) > 0.0):
        with b.if_(stored >= room):
            more = b.let("more", (room * 2).max(4))
            b.grow(to, more)
            b.fill(to, room, more, fill)
            b.assign(room, more)
        if between is not None:
            between(b, stored)
        if under is None:
            b.store(to, stored, value(Load(to, stored), Load(X, i)))
        else:
            with b.if_(under(Load(X, i))):
                b.store(to, stored, value(Load(to, stored), Load(X, i)))
        if then is not None:
            then(b, stored)
        b.assign(stored, stored + step)
    if after is not None:
        after(b, stored)
    return typed(b.finish())


def test_what_is_set_needs_no_fill():
    assert "fill" not in block_text(only(appending()))


def test_what_is_added_to_is_added_to_the_fill():
    text = block_text(only(appending(lambda old, x: old + x)))
    assert "val[stored] = 0.5 + x[i]" in text
    assert "fill" not in text


def test_what_is_added_to_nothing_is_not_added():
    counts = Buffer("counts", INTP, growable=True)
    text = block_text(only(appending(lambda old, x: old + x.cast(INTP), to=counts, fill=0)))
    assert "counts[stored] = int64(x[i])" in text


@pytest.mark.parametrize("value", [lambda old, x: x, lambda old, x: old * 2 + x])
@pytest.mark.parametrize("n", [0, 1, 9])
def test_the_meaning_stays(value, n):
    x = np.array([1.0, -1, 2, 3, 0, 5, 6, 7, 8])[:n]
    block = appending(value)
    count = int((x > 0).sum())
    before, after = (
        run_block(b, {N: n, X: x, VAL: np.full(1, 9.0), KEPT: 0})[1]["val"][:count]
        for b in (block, only(block))
    )
    np.testing.assert_array_equal(before, after)


LEFT = {
    "the store is under a condition": {"under": lambda x: x > 1.0},
    "the store is to another element": {"then": lambda b, at: b.store(VAL, at + 1, lift(1.0))},
    "the element is read before": {"between": lambda b, at: b.store(OTHER, 0, Load(VAL, at))},
    "the elements are read behind": {"after": lambda b, at: b.store(OTHER, 0, Load(VAL, at))},
    "they are copied": {"after": lambda b, at: b.move(OTHER, 0, VAL, 0, at)},
    "they are counted otherwise, too": {"after": lambda b, at: b.assign(at, at + 1)},
    "two are counted": {"step": 2},
    "an error may come between": {"between": lambda b, at: b.fail(1)},
    "the room is known to the next call": {"room": KEPT},
}


@pytest.mark.parametrize("why", LEFT)
def test_it_is_filled_where(why):
    block = appending(**LEFT[why])
    assert block_text(only(block)) == block_text(block)
