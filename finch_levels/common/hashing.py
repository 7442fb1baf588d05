"""A hash table in assembly, from keys to numbers: open addressing with linear probing.

The table is one int64 buffer: the number of slots (a power of two), the number of entries (-1 while
they change), then a key and a number for each slot, both -1 in a free slot, so that a probe touches
one cache line. Keys are not negative. They are also listed in the order of insertion.
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
"""Positions of the number of slots and of entries, and the length of this header."""
FREE = -1
SMALLEST = 16
"""Slots of an empty table."""
SPARSE = 1 << 22
"""Up to this many slots the load factor is at most a quarter: probes are short, and their branches
predictable. In a larger table cache misses dominate, and the load factor is at most a half."""
MULTIPLIER = 0x9E3779B97F4A7C15
"""The multiplier of Fibonacci hashing: 2**64 divided by the golden ratio."""
DIGIT, SHORT_DIGIT = 11, 8
"""The bits of a digit of the radix sort, for many keys and for few."""
FEW = 48
"""Up to this many keys insertion sort is fastest."""

_UINT64 = np.dtype(np.uint64)


def mix(b: Builder, key: Expr) -> Expr:
    """A hash whose bits each depend on all bits of ``key``; its low bits choose the home slot."""
    bits = b.let("bits", key, _UINT64)
    product = b.let("product", (bits ^ (bits >> np.uint64(32))) * np.uint64(MULTIPLIER))
    return (product ^ (product >> np.uint64(32))).cast(INTP)


def mixed(keys: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """``mix`` of NumPy arrays of int64, for checks."""
    bits = keys.astype(np.uint64)
    product = (bits ^ (bits >> np.uint64(32))) * np.uint64(MULTIPLIER)
    return (product ^ (product >> np.uint64(32))).view(np.int64)


def key_at(slot: Expr) -> Expr:
    """The position of a slot's key in the table; its number follows."""
    return slot * 2 + HEADER


def probe(b: Builder, table: Buffer, mask: Expr, key: Expr) -> tuple[Var, Var]:
    """Emit the search for a key. Returns its slot, or the free slot where it would be inserted, and
    the key that the slot holds."""
    slot = b.var("slot", mix(b, key) & mask)
    seen = b.var("seen", Load(table, key_at(slot)))
    with b.while_(seen.ne(key).and_(seen >= 0)):
        b.assign(slot, (slot + 1) & mask)
        b.assign(seen, Load(table, key_at(slot)))
    return slot, seen


def hash_slot(b: Builder, table: Buffer, mask: Expr, key: Expr) -> Expr:
    """``probe`` as a function call, for use outside innermost loops."""
    params = (Buffer("table", INTP), Var("mask", INTP), Var("key", INTP))
    function = b.function("hash_slot", params, INTP, lambda f, *args: f.ret(probe(f, *args)[0]))
    return b.invoke(function, table, mask, key)


def hash_find(b: Builder, table: Buffer, key: Expr) -> Expr:
    """The number of a key, or -1 if the table lacks it."""

    def build(f: Builder, table: Buffer, key: Var) -> None:
        slot, _ = probe(f, table, f.let("mask", Load(table, lift(SLOTS)) - 1), key)
        found = Load(table, key_at(slot) + 1)
        f.ret(found)  # a free slot has the number -1

    function = b.function("hash_find", (Buffer("table", INTP), Var("key", INTP)), INTP, build)
    return b.invoke(function, table, key)


def empty_table(b: Builder, table: Buffer, keys: Buffer) -> None:
    """Emit code that empties the table: entry by entry, or all slots at once if that is less."""
    with b.if_(Length(table) < key_at(lift(SMALLEST))):
        b.grow(table, key_at(lift(SMALLEST)))
        b.store(table, SLOTS, SMALLEST)
        b.store(table, ENTRIES, -1)
    count = b.let("count", Load(table, lift(ENTRIES)))
    slots = b.let("slots", Load(table, lift(SLOTS)))
    with b.if_((count < 0).or_(count * 8 > slots)):
        b.fill(table, HEADER, key_at(slots), FREE)
    with b.else_(), b.for_("k", 0, count) as k:
        # in reverse order of insertion, so that the probe sequences of the others stay intact
        slot = hash_slot(b, table, slots - 1, Load(keys, count - 1 - k))
        free_slot(b, table, slot)
    b.store(table, ENTRIES, -1)


def free_slot(b: Builder, table: Buffer, slot: Expr) -> None:
    """Emit the removal of the key that was inserted last."""
    at = b.let("at", key_at(slot))
    b.store(table, at, FREE)
    b.store(table, at + 1, FREE)


def is_full(count: Expr, mask: Expr) -> Expr:
    """Whether a table with ``count`` entries must be doubled."""
    return count * call(prim.ifelse, mask + 1 < SPARSE, 4, 2) > mask


def double_table(b: Builder, table: Buffer, keys: Buffer, count: Expr, mask: Var) -> None:
    """Emit rehashing into a table of twice the size."""
    slots = b.let("slots", (mask + 1) * 2)
    b.grow(table, key_at(slots))
    params = (Buffer("table", INTP), Buffer("keys", INTP), Var("count", INTP), Var("slots", INTP))
    function = b.function("hash_again", params, INTP, _hash_again)
    b.assign(mask, b.invoke(function, table, keys, count, slots))


def _hash_again(b: Builder, table: Buffer, keys: Buffer, count: Var, slots: Var) -> None:
    """Insert all keys into a table with ``slots`` slots; returns its mask."""
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
    """Emit code that sets ``order[0:count]`` to the numbers of the entries by increasing key.

    Keys are distinct. Uses insertion sort for few keys and radix sort for many; keys that are in
    order already are not sorted.
    """
    b.grow(order, count * 2 + (1 << DIGIT))
    params = (Buffer("order", INTP), Buffer("keys", INTP), Var("count", INTP))
    function = b.function("order_by_key", params, INTP, _order_by_key)
    with b.if_(b.invoke(function, order, keys, count)):
        b.move(order, 0, order, count, count)


def _order_by_key(b: Builder, order: Buffer, keys: Buffer, count: Var) -> None:
    """Sort; returns 1 if the result is in the second half of ``order``, else 0."""
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
    """Radix sort from the lowest digit, between the halves of ``order``; counts are kept after
    them."""
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


# -- NumPy ----------------------------------------------------------------------------------------


def blank_table() -> np.ndarray[Any, Any]:
    """A table without entries."""
    table = np.full(HEADER + 2 * SMALLEST, FREE, INTP)
    table[SLOTS], table[ENTRIES] = SMALLEST, 0
    return table


def check_table(name: str, table: np.ndarray[Any, Any], keys: np.ndarray[Any, Any]) -> None:
    """Raise ``FormatError`` unless ``table`` maps every key to its number, and has no others."""
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
        raise FormatError(f"{name} does not have each of {len(keys)} positions exactly once")
    wrong = np.flatnonzero(keys[found[:, 1]] != found[:, 0])
    free_before = np.concatenate([[0], np.cumsum(np.tile(pairs[:, 0] < 0, 2))])
    home = mixed(found[:, 0]) & (slots - 1)
    reached = np.where(taken < home, taken + slots, taken)
    cut = np.flatnonzero(free_before[reached] != free_before[home])
    for k in (*wrong, *cut):
        at = HEADER + 2 * int(taken[k])
        raise FormatError(
            f"{name}[{at}] is {table[at]}, a key that linear probing from its home slot "
            "does not reach"
        )
    if (pairs[pairs[:, 0] < 0] != FREE).any():
        raise FormatError(f"{name} has a free slot that is not {FREE}")
