"""SparseHash: a hash table of the stored subfibers; written in any order, sorted when it is frozen
(paper, Table "The main level formats supported by Finch")."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.errors import FormatError, IndexOverflow
from finch_core.interface.offers import Fibers, Offer
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Expr, Literal, Load
from finch_core.level import Field, Format, Mode, Order, Sharing, check_child, integer_dtype
from finch_core.looplets import Lookup, Looplet, Part, Run, Spike, Stepper, Switch, Thunk
from finch_core.looplets.routines import append_position, require_width
from finch_core.plugins import hookimpl
from finch_core.records import field, frozen
from finch_levels.common import hashing
from finch_levels.common.compressed import steps, unfurled

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, Fiber


_KEYS = "{0} fibers of {1} indices have more keys than a SparseHash can tell apart"
_FEWER = "use a SparseList, or split the dimension in two"


@frozen
class SparseHash(Format):
    """A level that stores subfibers in the order of first writes, and finds them by the key
    ``p * shape + i`` in a hash table.

    When it is frozen, fiber ``p`` has the indices ``idx[ptr[p]:ptr[p + 1]]``, in increasing order;
    ``pos`` has the position of each subfiber. ``index`` and ``pointer`` are the integer dtypes of
    ``idx`` and ``ptr``. Raises ``FormatError`` for dtypes that are no integers. Can be read by
    ``walk``, ``gallop`` and ``follow``, and written in any order.
    """

    lvl: Format = field(converter=check_child)
    index: np.dtype[Any] = field(default=INTP, converter=integer_dtype)
    pointer: np.dtype[Any] = field(default=INTP, converter=integer_dtype)

    name: ClassVar[str] = "SparseHash"
    order: ClassVar[Order] = Order.ANY
    reads_updates: ClassVar[bool] = True
    shares: ClassVar[bool] = False
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.IN_PLACE, Sharing.JOINED})
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "gallop", "follow"})

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        make = lambda lvl: cls(lvl, index=fibers.index, pointer=fibers.index)  # noqa: E731
        work = fibers.positions * 0.5 + fibers.stored * 0.5 + fibers.surprise
        memory = fibers.bytes(fibers.positions, fibers.stored) + 80 * fibers.stored
        why = "an index is found by its hash"
        return (Offer(make, why, fibers.stored, memory, work, 6, 200),)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (
            Field("ptr", self.pointer, "where each fiber starts in idx"),
            Field("idx", self.index, "the index of each stored subfiber", indices=True),
            Field("pos", INTP, "the position of each stored subfiber"),
            Field("key", INTP, "the key of each position"),
            Field("tbl", INTP, "the hash table from keys to positions"),
        )

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        stored = int(fields["ptr"][positions])
        table = hashing.HEADER + 2 * int(fields["tbl"][hashing.SLOTS])
        return {
            "ptr": positions + 1, "idx": stored, "pos": stored, "key": stored, "tbl": table,
        }, stored  # fmt: skip

    def locate(self, fields: Mapping[str, Any], position: int, index: int, shape: int) -> int:
        start, stop = int(fields["ptr"][position]), int(fields["ptr"][position + 1])
        found = bisect_left(fields["idx"], index, start, stop)
        there = found < stop and fields["idx"][found] == index
        return int(fields["pos"][found]) if there else -1

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        if positions > 1 and positions * shape > np.iinfo(INTP).max:
            raise IndexOverflow(_KEYS.format(positions, shape), hint=_FEWER)
        buffers = {
            "ptr": np.zeros(positions + 1, self.pointer),
            "idx": np.empty(0, self.index),
            "pos": np.empty(0, INTP),
            "key": np.empty(0, INTP),
            "tbl": hashing.blank_table(),
        }
        return buffers, 0

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        from finch_core.runtime.validation import check_indices, check_pointers

        if positions > 1 and positions * shape > np.iinfo(INTP).max:
            raise FormatError(_KEYS.format(positions, shape), hint=_FEWER)
        check_pointers("ptr", fields["ptr"], positions)
        check_indices("idx", fields["idx"], fields["ptr"][: positions + 1], shape)
        if len(fields["tbl"]) < hashing.HEADER:
            raise FormatError(
                f"tbl has {len(fields['tbl'])} elements, and needs {hashing.HEADER} and its slots"
            )

    def validate_contents(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        """Raise ``FormatError`` unless keys and indices agree and the table finds every key."""
        ends = fields["ptr"][: positions + 1].astype(INTP)
        stored = int(ends[-1])
        idx, pos = fields["idx"][:stored].astype(INTP), fields["pos"][:stored]
        wrong = np.flatnonzero(np.sort(pos) != np.arange(stored))
        if wrong.size:
            raise FormatError(f"pos lacks position {wrong[0]}, or has another one twice")
        keys = np.repeat(np.arange(positions), np.diff(ends)) * shape + idx
        wrong = np.flatnonzero(fields["key"][pos] != keys)
        if wrong.size:
            k = int(wrong[0])
            raise FormatError(f"key[{pos[k]}] is {fields['key'][pos[k]]}, and must be {keys[k]}")
        hashing.check_table("tbl", fields["tbl"], fields["key"][:stored])

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        hashing.empty_table(ctx, lvl.buffer("tbl"), lvl.buffer("key"))
        lvl.state["count"] = ctx.var(f"{lvl.name}_count", 0)
        lvl.state["room"] = ctx.var(f"{lvl.name}_room", 0)
        lvl.state["mask"] = _mask(ctx, lvl)
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        """Fibers need no memory, but their keys must fit in an integer."""
        if stop != Literal(1, int):
            ctx.require(
                stop <= ctx.lift(np.iinfo(INTP).max) // lvl.shape.max(1),
                IndexOverflow,
                _KEYS,
                stop,
                lvl.shape,
                hint=_FEWER,
            )

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        count, ptr = lvl.state["count"], lvl.buffer("ptr")
        require_width(ctx, count, ptr.dtype, "stored entries", "pointer")
        ctx.store(lvl.buffer("tbl"), hashing.ENTRIES, count)
        hashing.sort_entries(ctx, lvl.buffer("pos"), lvl.buffer("key"), count)
        ctx.grow(ptr, stop + 1)
        ctx.grow(lvl.buffer("idx"), count)
        _indices(ctx, lvl, stop)
        lvl.child.freeze(ctx, count)

    def thaw(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        count = ctx.var(f"{lvl.name}_count", Load(lvl.buffer("ptr"), stop), INTP)
        lvl.state["count"] = count
        lvl.state["room"] = ctx.var(f"{lvl.name}_room", count)
        lvl.state["mask"] = _mask(ctx, lvl)
        ctx.store(lvl.buffer("tbl"), hashing.ENTRIES, -1)
        lvl.child.thaw(ctx, count)

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        return unfurled(fiber, mode, protocol, update=_update, follow=_follow, walk=_walk)


def _mask(ctx: Context, lvl: BoundLevel) -> Any:
    return ctx.var(f"{lvl.name}_mask", Load(lvl.buffer("tbl"), ctx.lift(hashing.SLOTS)) - 1)


def _indices(ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
    """Write ``idx`` and ``ptr`` of all fibers from the keys in order."""
    ptr, idx, pos, key = (lvl.buffer(name) for name in ("ptr", "idx", "pos", "key"))
    reached = ctx.var(f"{lvl.name}_reached", 0)
    ctx.store(ptr, 0, 0)
    with ctx.for_("p", 0, stop) as p:
        base = ctx.let(f"{lvl.name}_base", p * lvl.shape)
        after = base + lvl.shape
        key_reached = Load(key, Load(pos, reached))
        with ctx.while_((reached < lvl.state["count"]).and_(key_reached < after)):
            ctx.store(idx, reached, key_reached - base)
            ctx.assign(reached, reached + 1)
        ctx.store(ptr, p + 1, reached)


# -- looplets -----------------------------------------------------------------------------------


def _walk(ctx: Context, fiber: Fiber, kind: type[Stepper]) -> Iterator[Part]:
    """Read the stored indices in order."""
    fill, idx, pos = fiber.filled(), fiber.lvl.buffer("idx"), fiber.lvl.buffer("pos")
    body = lambda ctx, q: Spike(fill, fiber.subfiber(Load(pos, q)))  # noqa: E731
    yield steps(ctx, fiber, kind, idx, body, Run(fill))


def _follow(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Look each index up in the hash table."""
    base, table = _base(ctx, fiber), fiber.lvl.buffer("tbl")

    def lookup(ctx: Context, i: Expr) -> Part:
        at = ctx.let(f"{fiber.lvl.name}_at", hashing.hash_find(ctx, table, base + i))
        return Switch(at >= 0, fiber.subfiber(at), fiber.filled())

    yield Lookup(lookup)


def _base(ctx: Context, fiber: Fiber) -> Expr:
    """The first key of the fiber."""
    return ctx.let(f"{fiber.lvl.name}_base", fiber.pos * fiber.lvl.shape)


def _update(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Write subfibers at any index; a new one is inserted, and removed if it was not written."""
    lvl, name = fiber.lvl, fiber.lvl.name
    base, table, count = _base(ctx, fiber), lvl.buffer("tbl"), lvl.state["count"]

    def at(ctx: Context, i: Expr) -> Iterator[Part]:
        key = ctx.let(f"{name}_key", base + i)
        slot, seen = hashing.probe(ctx, table, lvl.state["mask"], key)
        entered = ctx.var(f"{name}_entered", False)
        with ctx.if_(seen.ne(key)):
            _enter(ctx, lvl, key, slot)
            ctx.assign(entered, True)
        at = ctx.let(f"{name}_at", Load(table, hashing.key_at(slot) + 1))
        dirty = ctx.var(f"{name}_dirty", False)
        yield fiber.subfiber(at, dirty)
        with ctx.if_(dirty):
            fiber.mark(ctx)
        # what was entered since stays, and then this must stay too, though there is nothing in it
        with ctx.else_(), ctx.if_(entered.and_(at.eq(count - 1))):
            hashing.free_slot(ctx, table, hashing.hash_slot(ctx, table, lvl.state["mask"], key))
            ctx.assign(count, at)

    yield Lookup(lambda ctx, i: Thunk(lambda ctx: at(ctx, i)))


def _enter(ctx: Context, lvl: BoundLevel, key: Expr, slot: Any) -> None:
    """Insert a key into a free slot, with the next position."""
    table, keys = lvl.buffer("tbl"), lvl.buffer("key")
    count, mask = lvl.state["count"], lvl.state["mask"]
    append_position(ctx, lvl, count, lvl.state["room"], keys)
    ctx.store(keys, count, key)
    ctx.store(table, hashing.key_at(slot), key)
    ctx.store(table, hashing.key_at(slot) + 1, count)
    ctx.assign(count, count + 1)
    with ctx.if_(hashing.is_full(count, mask)):
        hashing.double_table(ctx, table, keys, count, mask)
        ctx.assign(slot, hashing.hash_slot(ctx, table, mask, key))


@hookimpl
def finch_level_format() -> type[Format]:
    """Register ``SparseHash``."""
    return SparseHash


__all__ = ["SparseHash"]
