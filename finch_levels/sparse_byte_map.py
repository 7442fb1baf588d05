"""SparseByteMap: one byte for each index says whether it is stored; random access, O(1) updates
(paper, Table "The main level formats supported by Finch").

Declaring it again, as a workspace, takes time proportional to what was written: the positions that
were written are listed, and only these are cleared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.offers import Fibers, Offer
from finch_core.interface.storage import require_index
from finch_core.ir.dtypes import BOOL, INTP
from finch_core.ir.expressions import Expr, Literal, Load, Var
from finch_core.level import Field, Format, Mode, Order, Sharing, check_child, integer_dtype
from finch_core.looplets import Lookup, Looplet, Part, Run, Spike, Stepper, Switch, Thunk
from finch_core.looplets.routines import positions_below, require_width
from finch_core.plugins import hookimpl
from finch_core.records import field, frozen
from finch_levels.common.bit_sets import sort_distinct
from finch_levels.common.compressed import steps, unfurled

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, Fiber

SCAN = 8
"""Up to this many bytes of the map per entry, scanning it is faster than sorting the entries."""
FEW, SPARSE = 16, 15
"""Up to so many entries, and fewer than one in ``2**15`` bytes of the map, are sorted by
comparisons, which are then faster than a walk of a bit set."""


def _kept(name: str, role: str, init: int = 0) -> Field:
    """A private scalar that describes the level's memory between declarations."""
    return Field(name, INTP, role, is_buffer=False, init=init, private=True)


@frozen
class SparseByteMap(Format):
    """A level with memory for every subfiber, at position ``p * shape + i``; ``tbl`` has a bool for
    each position that says whether it is stored.

    ``pos`` lists the stored positions: in the order of first writes while the level is updated, in
    increasing order when it is frozen; those of fiber ``p`` are then ``pos[ptr[p]:ptr[p + 1]]``.
    ``index`` and ``pointer`` are the integer dtypes of ``pos`` and ``ptr``. Raises ``FormatError``
    for dtypes that are no integers. Reads walk, gallop or follow; writes come in any order.
    """

    lvl: Format = field(converter=check_child)
    index: np.dtype[Any] = field(default=INTP, converter=integer_dtype)
    pointer: np.dtype[Any] = field(default=INTP, converter=integer_dtype)

    name: ClassVar[str] = "SparseByteMap"
    order: ClassVar[Order] = Order.ANY
    reads_updates: ClassVar[bool] = True
    shares: ClassVar[bool] = False
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.IN_PLACE, Sharing.JOINED})
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "gallop", "follow"})

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        make = lambda lvl: cls(lvl, index=np.int64, pointer=np.int64)  # noqa: E731
        below = fibers.positions * fibers.shape
        work = fibers.positions * 0.5 + fibers.stored * 0.5 + fibers.surprise
        memory = below + 8 * (fibers.positions + fibers.stored)
        why = f"a byte for each of {below} indices says whether it is stored"
        return (Offer(make, why, below, memory, work, 1.5, 5),)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (
            Field("ptr", self.pointer, "where each fiber starts in pos"),
            Field("tbl", BOOL, "whether each position is stored"),
            Field("pos", self.index, "the positions that are stored"),
            _kept("count", "how many positions are stored"),
            _kept("room", "positions that are clear but for those"),
            _kept("stride", "values below each of them", init=1),
        )

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        stored, below = int(fields["ptr"][positions]), positions * shape
        return {"ptr": positions + 1, "tbl": below, "pos": stored}, below

    def locate(self, fields: Mapping[str, Any], position: int, index: int, shape: int) -> int:
        found = position * shape + index
        return found if fields["tbl"][found] else -1

    def entries(self, positions: int, shape: int, fields: Mapping[str, Any], below: int) -> int:
        return int(fields["ptr"][positions])

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        below = positions * shape
        require_index(below, self.index)
        buffers = {
            "ptr": np.zeros(positions + 1, self.pointer),
            "tbl": np.zeros(below, bool),
            "pos": np.empty(0, self.index),
        }
        return {**buffers, "count": 0, "room": 0, "stride": 1}, below

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        from finch_core.runtime.validation import check_pointers

        require_index(positions * shape, self.index)
        check_pointers("ptr", fields["ptr"], positions)

    def validate_contents(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        """Raise ``FormatError`` unless ``tbl`` and ``pos`` agree."""
        used = fields["pos"][: int(fields["ptr"][positions])].astype(INTP)
        starts = np.repeat(
            np.arange(positions), np.diff(fields["ptr"][: positions + 1].astype(INTP))
        )
        outside = np.flatnonzero((used < starts * shape) | (used >= (starts + 1) * shape))
        if outside.size:
            k = int(outside[0])
            raise FormatError(
                f"pos[{k}] is {used[k]}, which is not a position of fiber {starts[k]}"
            )
        falls = np.flatnonzero(used[1:] <= used[:-1])
        if falls.size:
            k = int(falls[0]) + 1
            raise FormatError(f"pos[{k}] is {used[k]}, not more than pos[{k - 1}], {used[k - 1]}")
        listed = np.zeros(positions * shape, bool)
        listed[used] = True
        wrong = np.flatnonzero(listed != fields["tbl"][: positions * shape])
        if wrong.size:
            k = int(wrong[0])
            raise FormatError(f"tbl[{k}] is {not listed[k]}, but pos disagrees")

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        count, room = lvl.scalar("count"), lvl.scalar("room")
        if self.lvl.resets:
            _forget_if_reshaped(ctx, lvl)
        pos, tbl = lvl.buffer("pos"), lvl.buffer("tbl")
        with ctx.for_("k", 0, count) as k:
            at = ctx.let(f"{lvl.name}_at", Load(pos, k), INTP)
            ctx.store(tbl, at, False)
            if self.lvl.resets:
                lvl.child.reset(ctx, at, at + 1)
        ctx.assign(count, 0)
        lvl.state["count"], lvl.state["room"] = count, room
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        assert lvl.child is not None
        room, pos, tbl = lvl.state["room"], lvl.buffer("pos"), lvl.buffer("tbl")
        wanted = ctx.let(f"{lvl.name}_wanted", positions_below(ctx, lvl, stop), INTP)
        with ctx.if_(room < wanted):
            require_width(ctx, wanted, pos.dtype, "positions")
            ctx.grow(tbl, wanted)
            ctx.grow(pos, wanted)
            ctx.fill(tbl, room, wanted, False)
            if self.lvl.resets:
                lvl.child.assemble(ctx, room, wanted)
            ctx.assign(room, wanted)
        if not self.lvl.resets:
            lvl.child.assemble(ctx, start * lvl.shape, wanted)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        extent = stop * lvl.shape
        count, ptr = lvl.state["count"], lvl.buffer("ptr")
        require_width(ctx, count, ptr.dtype, "stored entries", "pointer")
        _in_order(ctx, lvl, count, extent)
        ctx.grow(ptr, stop + 1)
        ctx.store(ptr, 0, 0)
        if stop == Literal(1, int):
            ctx.store(ptr, 1, count)
        else:
            _point(ctx, lvl, count, stop)
        lvl.child.freeze(ctx, extent)

    def thaw(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        count, room = lvl.scalar("count"), lvl.scalar("room")
        extent = ctx.let(f"{lvl.name}_extent", stop * lvl.shape, INTP)
        ctx.assign(count, Load(lvl.buffer("ptr"), stop).cast(INTP))
        ctx.grow(lvl.buffer("pos"), extent)
        with ctx.if_(room < extent):  # it comes from outside: what is not stored may be anything
            if self.lvl.resets:
                with ctx.for_("at", 0, extent) as at, ctx.if_(Load(lvl.buffer("tbl"), at).not_()):
                    lvl.child.reset(ctx, at, at + 1)
            ctx.assign(room, extent)
        ctx.assign(lvl.scalar("stride"), _stride(ctx, lvl))
        lvl.state["count"], lvl.state["room"] = count, room
        lvl.child.thaw(ctx, extent)

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        return unfurled(fiber, mode, protocol, update=_update, follow=_follow, walk=_walk)


# -- clearing -----------------------------------------------------------------------------------


def _stride(ctx: Context, lvl: BoundLevel) -> Expr:
    """The number of values below each position of the child."""
    product: Expr = ctx.lift(1)
    for below in lvl.levels()[1:]:
        if not below.format.is_leaf:
            product = product * below.shape
    return product


def _forget_if_reshaped(ctx: Context, lvl: BoundLevel) -> None:
    """Clear the level if a dimension below has changed: positions then refer to other values."""
    stride = _stride(ctx, lvl)
    if isinstance(stride, Literal):
        return
    stride = ctx.let(f"{lvl.name}_stride", stride, INTP)
    with ctx.if_(lvl.scalar("stride").ne(stride)):
        ctx.assign(lvl.scalar("stride"), stride)
        ctx.assign(lvl.scalar("count"), 0)
        ctx.assign(lvl.scalar("room"), 0)


# -- freezing -----------------------------------------------------------------------------------


def _in_order(ctx: Context, lvl: BoundLevel, count: Var, extent: Expr) -> None:
    """Put ``pos`` in increasing order: by scanning the map where it is dense, by a bit set of the
    positions where it is not, by comparisons where they are few or far apart."""
    pos, tbl = lvl.buffer("pos"), lvl.buffer("tbl")
    ctx.grow(pos, extent)  # a copy of a tensor has no more than what is stored
    with ctx.if_(extent <= count * SCAN):
        found = ctx.var(f"{lvl.name}_found", 0)
        with ctx.for_("at", 0, extent) as at:  # without a branch: found <= at, so there is room
            ctx.store(pos, found, at)
            ctx.assign(found, found + Load(tbl, at).cast(INTP))
    with ctx.else_():
        with ctx.if_((count > FEW).and_(extent >> SPARSE < count)):
            ctx.assign(count, sort_distinct(ctx, pos, count, extent))
        with ctx.else_():
            ctx.sort(pos, 0, count)


def _point(ctx: Context, lvl: BoundLevel, count: Var, stop: Expr) -> None:
    """Set ``ptr``: where the positions of each fiber end in ``pos``."""
    pos, ptr = lvl.buffer("pos"), lvl.buffer("ptr")
    reached = ctx.var(f"{lvl.name}_reached", 0)
    with ctx.for_("p", 0, stop) as p:
        end = ctx.let(f"{lvl.name}_end", (p + 1) * lvl.shape)
        with ctx.while_((reached < count).and_(Load(pos, reached).cast(INTP) < end)):
            ctx.assign(reached, reached + 1)
        ctx.store(ptr, p + 1, reached)


# -- looplets -----------------------------------------------------------------------------------


def _base(ctx: Context, fiber: Fiber) -> Expr:
    """The position of the fiber's first subfiber."""
    return ctx.let(f"{fiber.lvl.name}_base", fiber.pos * fiber.lvl.shape)


def _walk(ctx: Context, fiber: Fiber, kind: type[Stepper]) -> Iterator[Part]:
    """Read the stored positions in order."""
    fill, base = fiber.filled(), _base(ctx, fiber)
    here = Lookup(lambda ctx, i: fiber.subfiber(base + i))
    body = lambda ctx, q: Spike(fill, here)  # noqa: E731
    yield steps(ctx, fiber, kind, fiber.lvl.buffer("pos"), body, Run(fill), base=base)


def _follow(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Look each index up in the map."""
    base, tbl = _base(ctx, fiber), fiber.lvl.buffer("tbl")

    def lookup(ctx: Context, i: Expr) -> Part:
        return Switch(Load(tbl, base + i), fiber.subfiber(base + i), fiber.filled())

    yield Lookup(lookup)


def _update(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Write subfibers at any index; positions that are written first are added to the list."""
    base, name = _base(ctx, fiber), fiber.lvl.name
    tbl, pos, count = fiber.lvl.buffer("tbl"), fiber.lvl.buffer("pos"), fiber.lvl.state["count"]

    def at(ctx: Context, i: Expr) -> Iterator[Part]:
        q = ctx.let(f"{name}_q", base + i)
        dirty = ctx.var(f"{name}_dirty", False)
        yield fiber.subfiber(q, dirty)
        with ctx.if_(dirty):
            with ctx.if_(Load(tbl, q).not_()):
                ctx.store(tbl, q, True)
                ctx.store(pos, count, q)
                ctx.assign(count, count + 1)
            fiber.mark(ctx)

    yield Lookup(lambda ctx, i: Thunk(lambda ctx: at(ctx, i)))


@hookimpl
def finch_level_format() -> type[Format]:
    """Register ``SparseByteMap``."""
    return SparseByteMap


__all__ = ["SparseByteMap"]
