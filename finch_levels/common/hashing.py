"""Open addressing in assembly: a table from keys to numbers, with linear probing.

The table is one int64 buffer: the number of slots (a power of two), the number of entries (-1 while
they change), then a key and a number for each slot, -1 where it is free, so that a probe touches
one line of memory. Keys are not negative. The keys are also listed in the order in which they came.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.ir import primitives as prim
from finch_core.ir.builder import Builder
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Buffer, Expr, Length, Load, Var, call, lift

SLOTS, ENTRIES, HEADER = 0, 1, 2
"""Where the table has the number of its slots and of its entries, and how long that part is."""
FREE = -1
SMALLEST = 16
"""Slots of an empty table."""
SPARSE = 1 << 22
"""Slots up to which three of four are free: probes are short, and foreseen. A larger table costs
more by its misses than by its probes; of that, and beyond, half of the slots may be taken."""
MULTIPLIER = 0x9E3779B97F4A7C15
"""An odd number without pattern: 2**64 divided by the golden ratio."""
DIGIT, SHORT_DIGIT = 11, 8
"""Bits that one pass of the sort goes by, for many keys and for few."""
FEW = 48
"""Keys up to which sorting by insertion is fastest."""

_UINT64 = np.dtype(np.uint64)


def mix(b: Builder, key: Expr) -> Expr:
    """A hash of which all bits depend on all bits of ``key``: its low bits choose the slot."""
    bits = b.let("bits", key, _UINT64)
    product = b.let("product", (bits ^ (bits >> np.uint64(32))) * np.uint64(MULTIPLIER))
    return (product ^ (product >> np.uint64(32))).cast(INTP)


def mixed(keys: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """``mix`` of NumPy arrays of int64, for checks."""
    bits = keys.astype(np.uint64)
    product = (bits ^ (bits >> np.uint64(32))) * np.uint64(MULTIPLIER)
    return (product ^ (product >> np.uint64(32))).view(np.int64)


def key_at(slot: Expr) -> Expr:
    """Where the key of a slot is in the table; its number follows."""
    return slot * 2 + HEADER


def probe(b: Builder, table: Buffer, mask: Expr, key: Expr) -> tuple[Var, Var]:
    """Emit the search for a key: the slot where it is, or the free one where it belongs, and the
    key that is there."""
    slot = b.var("slot", mix(b, key) & mask)
    seen = b.var("seen", Load(table, key_at(slot)))
    with b.while_(seen.ne(key).and_(seen >= 0)):
        b.assign(slot, (slot + 1) & mask)
        b.assign(seen, Load(table, key_at(slot)))
    return slot, seen


def hash_slot(b: Builder, table: Buffer, mask: Expr, key: Expr) -> Expr:
    """``probe`` as a call, for where it is not in the innermost loop."""
    params = (Buffer("table", INTP), Var("mask", INTP), Var("key", INTP))
    function = b.function("hash_slot", params, INTP, lambda f, *args: f.ret(probe(f, *args)[0]))
    return b.invoke(function, table, mask, key)


def hash_find(b: Builder, table: Buffer, key: Expr) -> Expr:
    """The number that a key has, or -1."""

    def build(f: Builder, table: Buffer, key: Var) -> None:
        slot, _ = probe(f, table, f.let("mask", Load(table, lift(SLOTS)) - 1), key)
        found = Load(table, key_at(slot) + 1)
        f.ret(found)  # a free slot has the number -1

    function = b.function("hash_find", (Buffer("table", INTP), Var("key", INTP)), INTP, build)
    return b.invoke(function, table, key)


def empty_table(b: Builder, table: Buffer, keys: Buffer) -> None:
    """Emit what empties the table; it costs what was in it, or its slots if those are fewer."""
    with b.if_(Length(table) < key_at(lift(SMALLEST))):
        b.grow(table, key_at(lift(SMALLEST)))
        b.store(table, SLOTS, SMALLEST)
        b.store(table, ENTRIES, -1)
    count = b.let("count", Load(table, lift(ENTRIES)))
    slots = b.let("slots", Load(table, lift(SLOTS)))
    with b.if_((count < 0).or_(count * 8 > slots)):
        b.fill(table, HEADER, key_at(slots), FREE)
    with b.else_(), b.for_("k", 0, count) as k:
        # the last one first, so that those still there are found as when they came
        slot = hash_slot(b, table, slots - 1, Load(keys, count - 1 - k))
        free_slot(b, table, slot)
    b.store(table, ENTRIES, -1)


def free_slot(b: Builder, table: Buffer, slot: Expr) -> None:
    """Emit the removal of the key that came last."""
    at = b.let("at", key_at(slot))
    b.store(table, at, FREE)
    b.store(table, at + 1, FREE)


def is_full(count: Expr, mask: Expr) -> Expr:
    """Whether a table of so many entries is to be doubled."""
    return count * call(prim.ifelse, mask + 1 < SPARSE, 4, 2) > mask


def double_table(b: Builder, table: Buffer, keys: Buffer, count: Expr, mask: Var) -> None:
    """Emit the move to a table twice as large."""
    slots = b.let("slots", (mask + 1) * 2)
    b.grow(table, key_at(slots))
    params = (Buffer("table", INTP), Buffer("keys", INTP), Var("count", INTP), Var("slots", INTP))
    function = b.function("hash_again", params, INTP, _hash_again)
    b.assign(mask, b.invoke(function, table, keys, count, slots))


def _hash_again(b: Builder, table: Buffer, keys: Buffer, count: Var, slots: Var) -> None:
    """Enter all keys into a table with ``slots`` slots; gives its mask."""
    b.store(table, SLOTS, slots)
    b.fill(table, HEADER, key_at(slots), FREE)
    mask = b.let("mask", slots - 1)
    with b.for_("k", 0, count) as k:
        key = b.let("key", Load(keys, k))
        at = b.let("at", key_at(probe(b, table, mask, key)[0]))
        b.store(table, at, key)
        b.store(table, at + 1, k)
    b.ret(mask)


# -- sorting ------------------------------------------------------------------------------------


def sort_entries(b: Builder, order: Buffer, keys: Buffer, count: Expr) -> None:
    """Emit ``order[0:count]``: the numbers of the entries by increasing key. Keys differ.

    Few are sorted by insertion, many digit by digit, and keys that came in order not at all.
    """
    b.grow(order, count * 2 + (1 << DIGIT))
    params = (Buffer("order", INTP), Buffer("keys", INTP), Var("count", INTP))
    function = b.function("order_by_key", params, INTP, _order_by_key)
    with b.if_(b.invoke(function, order, keys, count)):
        b.move(order, 0, order, count, count)


def _order_by_key(b: Builder, order: Buffer, keys: Buffer, count: Var) -> None:
    """Sort; gives 1 if the result is in the second half of ``order``, else 0."""
    largest, rising = b.var("largest", 0), b.var("rising", True)
    with b.for_("k", 0, count) as k:
        b.store(order, k, k)
        key = b.let("key", Load(keys, k))
        with b.if_(key < largest):
            b.assign(rising, False)
        b.assign(largest, largest.max(key))
    with b.if_(rising):
        b.ret(0)
    with b.if_(count <= FEW):
        _insertion(b, order, keys, count)
        b.ret(0)
    _by_digits(b, order, keys, count, largest)


def _insertion(b: Builder, order: Buffer, keys: Buffer, count: Expr) -> None:
    with b.for_("k", 1, count) as k:
        key = b.let("key", Load(keys, k))
        to = b.var("to", k)
        with b.while_((to > 0).and_(key < Load(keys, Load(order, to - 1)))):
            b.store(order, to, Load(order, to - 1))
            b.assign(to, to - 1)
        b.store(order, to, k)


def _by_digits(b: Builder, order: Buffer, keys: Buffer, count: Expr, largest: Expr) -> None:
    """From the lowest digit up, between the halves of ``order``; behind them is room to count."""
    few = count < (1 << DIGIT)
    bits = b.let("bits", call(prim.ifelse, few, SHORT_DIGIT, DIGIT))
    digits = b.let("digits", lift(1) << bits, INTP)
    tally = b.let("tally", count * 2)
    source, shift = b.var("source", 0), b.var("shift", 0)
    with b.while_((shift < 63).and_((largest >> shift) > 0)):

        def place(entry: Expr) -> Expr:
            digit = (Load(keys, entry) >> shift) & (digits - 1)
            return b.let("digit", tally + digit)

        b.fill(order, tally, tally + digits, 0)
        with b.for_("k", 0, count) as k:
            at = place(k)
            b.store(order, at, Load(order, at) + 1)
        before = b.var("before", count - source)
        with b.for_("d", tally, tally + digits) as d:
            size = b.let("size", Load(order, d))
            b.store(order, d, before)
            b.assign(before, before + size)
        with b.for_("k", 0, count) as k:
            entry = b.let("entry", Load(order, source + k))
            at = place(entry)
            to = b.let("to", Load(order, at))
            b.store(order, to, entry)
            b.store(order, at, to + 1)
        b.assign(source, count - source)
        b.assign(shift, shift + bits)
    b.ret(source.ne(0).cast(INTP))


# -- from outside -------------------------------------------------------------------------------


def blank_table() -> np.ndarray[Any, Any]:
    """A table without entries."""
    table = np.full(HEADER + 2 * SMALLEST, FREE, INTP)
    table[SLOTS], table[ENTRIES] = SMALLEST, 0
    return table


def check_table(name: str, table: np.ndarray[Any, Any], keys: np.ndarray[Any, Any]) -> None:
    """Raise ``FormatError`` unless ``table`` finds every key, at its number, and no other."""
    slots, entries = int(table[SLOTS]), int(table[ENTRIES])
    if slots < 1 or slots & (slots - 1):
        raise FormatError(f"{name}[{SLOTS}] is {slots}, and must be a power of two")
    if entries != len(keys):
        raise FormatError(f"{name}[{ENTRIES}] is {entries}, and must be {len(keys)}")
    pairs = table[HEADER : HEADER + 2 * slots].reshape(-1, 2)
    taken = np.flatnonzero(pairs[:, 0] >= 0)
    found = pairs[taken]
    if len(taken) == slots:
        raise FormatError(f"{name} has no free slot")
    if len(taken) != len(keys) or not np.array_equal(np.sort(found[:, 1]), np.arange(len(keys))):
        raise FormatError(f"{name} has not each of {len(keys)} positions once")
    wrong = np.flatnonzero(keys[found[:, 1]] != found[:, 0])
    free_before = np.concatenate([[0], np.cumsum(np.tile(pairs[:, 0] < 0, 2))])
    home = mixed(found[:, 0]) & (slots - 1)
    reached = np.where(taken < home, taken + slots, taken)
    cut = np.flatnonzero(free_before[reached] != free_before[home])
    for k in (*wrong, *cut):
        at = HEADER + 2 * int(taken[k])
        raise FormatError(f"{name}[{at}] is {table[at]}, a key that is not looked for there")
    if (pairs[pairs[:, 0] < 0] != FREE).any():
        raise FormatError(f"{name} has a free slot that is not {FREE}")
