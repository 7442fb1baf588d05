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


def test_nor_does_what_is_copied_as_far_as_it_is_counted():
    block = appending(after=lambda b, at: b.move(OTHER, 0, VAL, 0, at))
    assert "fill" not in block_text(only(block))
    values = {N: 5, X: np.array([1.0, -1, 2, 3, 0]), VAL: np.full(1, 9.0), KEPT: 0}
    found = run_block(only(block), {**values, OTHER: np.zeros(9)})[1]["other"]
    assert found[:4].tolist() == [1, 2, 3, 0]


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
    "more are copied than are counted": {"after": lambda b, at: b.move(OTHER, 0, VAL, 0, at + 1)},
    "others are copied": {"after": lambda b, at: b.move(OTHER, 0, VAL, 1, at)},
    "they are counted otherwise, too": {"after": lambda b, at: b.assign(at, at + 1)},
    "two are counted": {"step": 2},
    "an error may come between": {"between": lambda b, at: b.fail(1)},
    "the room is known to the next call": {"room": KEPT},
}


@pytest.mark.parametrize("why", LEFT)
def test_it_is_filled_where(why):
    block = appending(**LEFT[why])
    assert block_text(only(block)) == block_text(block)


LENGTHS, GAPS = Buffer("lengths", INTP), Buffer("gaps", INTP)


def appending_runs(
    value=lambda old, x: x, gap=True, at=lambda pos, j: pos + j, inside=None, before=None,
    within=None, beyond=lambda pos, length: pos + length, to=VAL,
):  # fmt: skip
    """Runs of ``x`` are appended to ``val``, each behind as many elements as ``gaps`` has it."""
    b = Builder(Names(["n"]), constants=(N,))
    stored, room = b.var("stored", 0), b.var("room", 0)
    with b.for_("i", 0, N) as i:
        length = b.let("length", Load(LENGTHS, i))
        pos = b.let("pos", stored + Load(GAPS, i)) if gap else stored
        end = b.let("end", beyond(pos, length))
        with b.if_(end - 1 >= room):
            more = b.let("more", (room * 2).max(end))
            b.grow(to, more)
            b.fill(to, room, more, 0.5)
            b.assign(room, more)
        if before is not None:
            before(b, stored)
        with b.for_("j", 0, length) as j:
            if within is None:
                b.store(to, at(pos, j), value(Load(to, at(pos, j)), Load(X, j)))
            else:
                with b.if_(within(Load(X, j))):
                    b.store(to, at(pos, j), value(Load(to, at(pos, j)), Load(X, j)))
            if inside is not None:
                inside(b, at(pos, j), stored)
        b.assign(stored, end)
    b.assign(KEPT, stored)
    return typed(b.finish())


def test_a_run_that_a_loop_stores_needs_no_fill():
    assert "fill" not in block_text(only(appending_runs(gap=False)))


def test_only_what_is_skipped_before_a_run_is_filled():
    text = block_text(only(appending_runs()))
    assert text.count("fill(") == 1
    assert text.index("end - 1 >= room") < text.index("fill(val, stored, ") < text.index("for j")


@pytest.mark.parametrize("value", [lambda old, x: x, lambda old, x: old * 2 + x])
@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("n", [0, 1, 9])
def test_the_meaning_of_runs_stays(value, gap, n):
    lengths = np.array([2, 0, 1, 0, 5, 3, 0, 0, 4])[:n]
    gaps = np.array([1, 0, 3, 2, 0, 20, 0, 1, 0])[:n]
    block = appending_runs(value, gap)
    count = int(lengths.sum() + gap * gaps.sum())
    buffers = {N: n, X: np.arange(1.0, 6.0), LENGTHS: lengths, GAPS: gaps, KEPT: 0}
    found = []
    for b in (block, only(block)):
        assert ("fill(val, room" in block_text(b)) == (b is block)
        after = run_block(b, {**buffers, VAL: np.full(1, 9.0)})[1]
        found.append(after["val"][:count])
        assert len(found[-1]) == count
    np.testing.assert_array_equal(*found)


RUNS_LEFT = {
    "some turns store nothing": {"within": lambda x: x > 1.0},
    "a turn stores to every other element": {"at": lambda pos, j: pos + 2 * j},
    "all turns store to one element": {"at": lambda pos, j: pos},
    "the run ends before what is counted": {"at": lambda pos, j: pos + j - 1},
    "more is counted than stored": {"beyond": lambda pos, length: pos + length + 1},
    "a turn stores twice": {"inside": lambda b, at, stored: b.store(VAL, at + 1, lift(1.0))},
    "an element is read before": {"before": lambda b, at: b.store(OTHER, 0, Load(VAL, at))},
    "an element is read in the loop": {
        "inside": lambda b, at, stored: b.store(OTHER, 0, Load(VAL, at))
    },
    "an error may come between": {"before": lambda b, at: b.fail(1)},
    "an error may come in the loop": {"inside": lambda b, at, stored: b.fail(1)},
    "the counter changes in the loop": {
        "inside": lambda b, at, stored: b.assign(stored, stored + 1),
        "gap": False,
    },
}


@pytest.mark.parametrize("why", RUNS_LEFT)
def test_capacity_for_runs_is_filled_where(why):
    block = appending_runs(**RUNS_LEFT[why])
    assert block_text(only(block)) == block_text(block)
