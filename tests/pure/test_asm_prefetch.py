"""Where inner loops begin is asked for some turns before, if only memory tells where that is;
what is some way behind, if they follow one another and load from here and there."""

import sys

import numpy as np
import pytest

from finch_core.ir.assembly import Block, Parallel
from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var, lift
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block

IDX, PTR, OUT = Buffer("idx", np.dtype(np.int32)), Buffer("ptr", INTP), Buffer("out", INTP)
VAL = Buffer("val", FLOAT64)
N, M = Var("n", INTP), Var("m", INTP)
ALL = {name for name, _ in PASSES}


MODULE = sys.modules["finch_core.optimize.prefetch"]
"""The module: the package has the pass of this name."""


@pytest.fixture
def uncached(monkeypatch):
    """A machine without a cache: the arrays of the tests are small."""
    monkeypatch.setattr(MODULE, "CACHED", 0)


def only(block):
    return optimize(block, disabled=ALL - {"prefetch"})


def through(b, q):
    """From where up to where the row goes that an index names."""
    k = b.let("k", Load(IDX, q).cast(INTP))
    return b.let("r", Load(PTR, k)), b.let("r_stop", Load(PTR, k + 1))


def rows(where=through, place=lambda r, q: r, then=None, times=N):
    """A sum over each of some rows."""
    b = Builder(Names(["n", "m"]), constants=(N, M))
    with b.for_("q", 0, times) as q:
        start, stop = where(b, q)
        total = b.var("total", 0.0)
        with b.for_("s", start, stop) as s:
            b.assign(total, total + Load(VAL, place(s, q)))
        b.store(OUT, q, total.cast(INTP))
        if then is not None:
            then(b, q)
    return typed(b.finish())


def test_a_row_that_is_found_through_an_index_is_asked_for():
    assert block_text(only(rows())).startswith("""\
q_last: int64 = ifelse(length(val) > 32768, n, 0)
for q in range(0, n):
    if q + 2 < q_last:
        k_ahead: int64 = int64(idx[q + 2])
        r_ahead: int64 = ptr[k_ahead]
        prefetch(val, r_ahead)
    k: int64 = int64(idx[q])
""")


def test_so_is_a_row_of_a_matrix():
    def row(b, q):
        k = b.let("k", Load(IDX, q).cast(INTP))
        return b.let("r", k * M), b.let("r_stop", k * M + M)

    text = block_text(only(rows(row)))
    assert "if q + 4 < q_last:" in text
    assert "prefetch(val, r_ahead)\n" in text
    assert "prefetch(val, r_ahead + 8)" not in text  # how far it goes is known in the turn


def test_a_bound_that_costs_is_held():
    text = block_text(only(rows(times=Load(PTR, lift(9)))))
    assert text.startswith(
        "q_stop: int64 = ptr[9]\nq_last: int64 = ifelse(length(val) > 32768, q_stop, 0)\n"
        "for q in range(0, q_stop):\n    if q + 2 < q_last:"
    )


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
@pytest.mark.usefixtures("uncached")
def test_the_meaning_stays_and_no_load_is_beyond_an_end(n):
    idx, ptr = np.array([3, 0, 2, 2, 1, 3], np.int32)[:n], np.array([0, 2, 2, 5, 6, 9])
    values = {N: n, M: 0, IDX: idx, PTR: ptr, VAL: np.arange(9.0), OUT: np.zeros(n, np.int64)}
    block = rows()
    before, after = (run_block(b, values)[1]["out"] for b in (block, only(block)))
    np.testing.assert_array_equal(before, after)


def following(b, q):
    """A row that begins where the one before ended."""
    return b.let("r", Load(PTR, q)), b.let("r_stop", Load(PTR, q + 1))


def here_and_there(s, q):
    """A place that is loaded from memory read in order."""
    return Load(IDX, s).cast(INTP)


def test_rows_that_follow_one_another_ask_for_what_is_behind():
    block = rows(following, here_and_there)
    assert "prefetch(idx, r + 512)" in block_text(only(block))
    idx, ptr = np.array([3, 0, 2, 2, 1, 3], np.int32), np.array([0, 2, 2, 5, 6])
    values = {N: 4, M: 0, IDX: idx, PTR: ptr, VAL: np.arange(9.0), OUT: np.zeros(4, np.int64)}
    before, after = (run_block(b, values)[1]["out"] for b in (block, only(block)))
    np.testing.assert_array_equal(before, [3, 0, 5, 3])
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("n", [0, 4])
def test_they_do_so_where_they_are_long_together(n):
    """Which the end of the last one tells, if there is one."""
    block = only(rows(following, here_and_there))
    assert "s_many: bool = 0 < n and ptr[n] > 1048576\nfor q" in block_text(block)
    ptr = np.array([0, 2, 2, 5, 6] if n else [], np.int64)
    idx = np.array([3, 0, 2, 2, 1, 3], np.int32)
    values = {N: n, M: 0, IDX: idx, PTR: ptr, VAL: np.arange(9.0), OUT: np.zeros(4, np.int64)}
    run_block(block, values)


def test_or_wherever_nothing_tells_where_they_end():
    def apart(b, q):
        return b.let("r", Load(PTR, q)), b.let("r_stop", Load(IDX, q).cast(INTP))

    text = block_text(only(rows(apart, here_and_there)))
    assert "prefetch(idx, r + 512)" in text
    assert "many" not in text


def test_parts_of_a_parallel_loop_do_not_know_how_long_they_are_together():
    part = Var("part", INTP)
    block = Block((Parallel(part, lift(2), rows(following, here_and_there)),))
    text = block_text(only(block))
    assert "prefetch(idx, r + 512)" in text
    assert "many" not in text


def test_so_they_do_where_pointers_are_cast():
    def narrow(b, q):
        r, r_stop = (Load(IDX, at).cast(INTP) for at in (q, q + 1))
        return b.let("r", r), b.let("r_stop", r_stop)

    assert "prefetch(idx, r + 512)" in block_text(only(rows(narrow, here_and_there)))


BASE = Buffer("base", INTP)


def nested(place=lambda k, i: k * M, also=None, stop=lambda i: Load(PTR, i + 1), limit=None):
    """The sums of dense rows that the entries of sparse rows name."""
    b = Builder(Names(["n", "m"]), constants=(N, M))
    with b.for_("i", 0, N) as i:
        if limit is not None:
            with b.if_(i >= limit):
                b.fail(1)
        first, last = b.let("p", Load(PTR, i)), b.let("p_stop", stop(i))
        total = b.var("total", 0.0)
        with b.for_("q", first, last) as q:
            k = b.let("k", Load(IDX, q).cast(INTP))
            r = b.let("r", place(k, i))
            with b.for_("s", 0, M) as s:
                b.assign(total, total + Load(VAL, r + s))
        b.store(OUT, i, total.cast(INTP))
        if also is not None:
            also(b, i)
    return typed(b.finish())


def branched(cond):
    """The sums of the dense rows that indices name, where a condition holds."""
    b = Builder(Names(["n", "m"]), constants=(N, M))
    with b.for_("q", 0, N) as q:
        k = b.let("k", Load(IDX, q).cast(INTP))
        with b.if_(cond(k)):
            total = b.var("total", 0.0)
            with b.for_("s", 0, M) as s:
                b.assign(total, total + Load(VAL, k * M + s))
            b.store(OUT, q, total.cast(INTP))
    return typed(b.finish())


def test_a_row_that_no_turn_or_each_reads_is_asked_for():
    assert "prefetch(val, k_ahead * m)" in block_text(only(branched(lambda k: M > 0)))


def test_one_that_some_turns_read_is_not():
    assert "prefetch" not in block_text(only(branched(lambda k: k > 0)))


def test_rows_that_follow_one_another_ask_for_what_the_next_ones_name():
    text = block_text(only(nested()))
    assert text.startswith(
        "q_last: int64 = ifelse(0 < n and length(val) > 32768, ptr[n], 0)\nfor i"
    )
    assert (
        """\
    for q in range(p, p_stop):
        if q + 16 < q_last:
            k_ahead: int64 = int64(idx[q + 16])
            r_ahead: int64 = k_ahead * m
            prefetch(val, r_ahead)
            if m > 8:
                prefetch(val, r_ahead + 8)
"""
        in text
    )


@pytest.mark.parametrize(
    "block",
    [
        nested(also=lambda b, i: b.store(IDX, i, lift(0).cast(IDX.dtype))),
        nested(also=lambda b, i: b.store(PTR, i, lift(0))),
        nested(place=lambda k, i: (k + i) * M),
        nested(place=lambda k, i: (k + Load(BASE, i)) * M),
        nested(stop=lambda i: Load(PTR, i + 2)),
        nested(stop=lambda i: Load(BASE, i)),
        nested(limit=M),
    ],
)
def test_but_not_where_the_next_rows_may_name_others(block):
    text = block_text(only(block))
    assert "q + 4 < q_last" in text
    assert "ifelse(length(val) > 32768, p_stop, 0)" in text


@pytest.mark.parametrize("ends", [(0,), (0, 0), (0, 3, 3, 4, 6), (0, 1), (0, 0, 6), (2, 6, 6)])
@pytest.mark.usefixtures("uncached")
def test_and_no_load_is_beyond_the_last_row(ends):
    n, idx = len(ends) - 1, np.array([3, 0, 2, 2, 1, 3], np.int32)[: ends[-1]]
    values = {N: n, M: 2, IDX: idx, PTR: np.array(ends), VAL: np.arange(8.0)}
    values[OUT] = np.zeros(n, np.int64)
    block = nested()
    before, after = (run_block(b, values)[1]["out"] for b in (block, only(block)))
    np.testing.assert_array_equal(after, before)


def checked(b, q):
    """A row that there may not be."""
    k = b.let("k", Load(IDX, q).cast(INTP))
    with b.if_(k >= M):
        b.fail(1)
    return b.let("r", Load(PTR, k)), b.let("r_stop", Load(PTR, k + 1))


def test_what_is_loaded_before_a_turn_may_fail_is_loaded_ahead():
    assert "prefetch(val, r_ahead)" in block_text(only(rows(then=lambda b, q: b.fail(1))))


TABLE = Buffer("table", INTP)


def probes(before=None, after=None):
    """For each key, how many slots of a table are looked at to find it."""
    b = Builder(Names(["n", "m"]), constants=(N, M))
    mask = b.var("mask", M)
    with b.for_("q", 0, N) as q:
        if before is not None:
            before(b, q)
        key = b.let("key", Load(IDX, q).cast(INTP))
        slot = b.var("slot", (key * 5) & mask)
        seen, count = b.var("seen", Load(TABLE, slot)), b.var("count", 1)
        with b.while_(seen.ne(key).and_(seen >= 0)):
            b.assign(slot, (slot + 1) & mask)
            b.assign(seen, Load(TABLE, slot))
            b.assign(count, count + 1)
        b.store(OUT, q, count)
        b.store(TABLE, slot, key)
        if after is not None:
            after(b, q)
        b.assign(mask, mask | 1)
    return typed(b.finish())


def test_a_probe_is_asked_for_some_turns_before():
    assert """\
q_last: int64 = ifelse(length(table) > 32768, n, 0)
for q in range(0, n):
    if q + 8 < q_last:
        key_ahead: int64 = int64(idx[q + 8])
        slot_ahead: int64 = key_ahead * 5 & mask
        prefetch(table, slot_ahead)
    key: int64 = int64(idx[q])
""" in block_text(only(probes()))


def test_so_is_one_that_may_fail_after_its_key_is_known():
    assert "prefetch(table, slot_ahead)" in block_text(only(probes(after=lambda b, q: b.fail(1))))


@pytest.mark.parametrize("why", ["a turn may fail before", "a turn may be the last", "keys change"])
def test_no_probe_is_asked_for_where(why):
    block = {
        "a turn may fail before": lambda: probes(before=lambda b, q: b.fail(1)),
        "a turn may be the last": lambda: probes(after=lambda b, q: b.break_()),
        "keys change": lambda: probes(after=lambda b, q: b.store(IDX, q, lift(0).cast(IDX.dtype))),
    }[why]()
    assert block_text(only(block)) == block_text(block)


@pytest.mark.parametrize("n", [0, 1, 8, 9, 20])
@pytest.mark.usefixtures("uncached")
def test_probes_find_what_they_found(n):
    keys = np.random.default_rng(n).integers(0, 9, n).astype(np.int32)
    values = {N: n, M: 15, IDX: keys, TABLE: np.full(16, -1), OUT: np.zeros(n, np.int64)}
    block = probes()
    before, after = (run_block(b, values)[1] for b in (block, only(block)))
    np.testing.assert_array_equal(before["out"], after["out"])
    np.testing.assert_array_equal(before["table"], after["table"])


LEFT = {
    "rows follow one another, read in order": {"where": following},
    "rows may not follow one another": {
        "where": lambda b, q: (b.let("r", Load(PTR, q * 2)), b.let("r_stop", Load(PTR, q * 2 + 1))),
        "place": here_and_there,
    },
    "pointers change": {
        "where": following,
        "place": here_and_there,
        "then": lambda b, q: b.store(PTR, q, lift(0)),
    },
    "only the inner loop makes the load": {
        "where": lambda b, q: (lift(0), M),
        "place": lambda s, q: Load(IDX, q).cast(INTP) * M + s,
    },
    "rows are not read in order": {"place": lambda s, q: s * 2},
    "indices change": {"then": lambda b, q: b.store(IDX, q, lift(0).cast(IDX.dtype))},
    "rows change": {"then": lambda b, q: b.grow(PTR, q)},
    "a turn may be the last": {"then": lambda b, q: b.break_()},
    "a turn may fail before it loads": {"where": checked},
}


@pytest.mark.parametrize("why", LEFT)
def test_nothing_is_asked_for_where(why):
    block = rows(**LEFT[why])
    assert block_text(only(block)) == block_text(block)
