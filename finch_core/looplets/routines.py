"""Routines that several formats emit: search, append, count. They emit assembly for any backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.errors import FormatError, IndexOverflow
from finch_core.interface.storage import largest_of, too_long
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import OUT_OF_MEMORY
from finch_core.ir.builder import Builder
from finch_core.ir.dtypes import BOOL, INTP, concrete, is_tuple, tuple_fields
from finch_core.ir.expressions import FALSE, Buffer, Expr, Literal, Load, Var, call, lift
from finch_core.looplets import Lookup, Phase, Run, Sequence

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.level import Format
    from finch_core.interface.tensorlike import BoundLevel, Fiber
    from finch_core.looplets import Looplet


ZERO, ONE = lift(0), lift(1)
MOST_POSITIONS = 1 << 60
"""More positions than fit in memory, and few enough for their size in bytes to be an int64."""


def search(ctx: Builder, buffer: Buffer, start: Any, stop: Any, key: Any) -> Expr:
    """Emit a galloping search: the first position in ``start`` up to ``stop`` with a value of at
    least ``key``.

    ``buffer`` must be sorted there. Gives ``stop`` if there is no such position. It takes O(log
    d) steps for a distance of ``d`` from ``start``.
    """
    function = ctx.function(
        f"search_{buffer.dtype}",
        (Buffer("a", buffer.dtype), Var("start", INTP), Var("stop", INTP), Var("key", INTP)),
        INTP,
        _search,
    )
    return ctx.invoke(function, buffer, start, stop, key)


def _search(b: Builder, a: Buffer, start: Var, stop: Var, key: Var) -> None:
    low = b.var("low", start)
    step = b.var("step", 1)
    with b.while_((low + step <= stop).and_(Load(a, low + step - 1).cast(INTP) < key)):
        b.assign(low, low + step)
        b.assign(step, step * 2)
    high = b.var("high", (low + step - 1).min(stop))
    with b.while_(low < high):
        middle = b.let("middle", low + ((high - low) >> 1))
        with b.if_(Load(a, middle).cast(INTP) < key):
            b.assign(low, middle + 1)
        with b.else_():
            b.assign(high, middle)
    b.ret(low)


AT_ONCE = 64
"""So many elements are compared without branches."""


def equal(ctx: Builder, first: Buffer, second: Buffer, stop: Any) -> Expr:
    """Emit a comparison: whether two buffers of one integer dtype have the same elements at the
    positions below ``stop``."""
    function = ctx.function(
        f"equal_{first.dtype}",
        (Buffer("a", first.dtype), Buffer("b", first.dtype), Var("stop", INTP)),
        BOOL,
        _equal,
    )
    return ctx.invoke(function, first, second, stop)


def _equal(builder: Builder, a: Buffer, b: Buffer, stop: Var) -> None:
    reached, differ = builder.var("reached", 0), builder.var("differ", 0, a.dtype)

    def compare(k: Var) -> None:
        builder.assign(differ, call(prim.bitor, differ, call(prim.bitxor, Load(a, k), Load(b, k))))

    with builder.while_(reached + AT_ONCE <= stop):
        with builder.for_("k", reached, reached + AT_ONCE) as k:
            compare(k)
        with builder.if_(differ.ne(0)):
            builder.ret(FALSE)
        builder.assign(reached, reached + AT_ONCE)
    with builder.for_("k", reached, stop) as k:
        compare(k)
    builder.ret(differ.eq(0))


def append_position(
    ctx: Context,
    lvl: BoundLevel,
    stored: Var,
    room: Var,
    *buffers: Buffer,
    child: BoundLevel | None = None,
) -> None:
    """Ensure that position ``stored`` of the child (or of ``child``) is assembled and fits
    ``buffers``.

    ``room`` is the number of assembled positions; it at least doubles when they run out, so
    that appending costs O(1) amortised.
    """
    child = child or lvl.child
    assert child is not None
    with ctx.if_(stored >= room):
        more = ctx.let(f"{lvl.name}_more", (room * 2).max(ctx.lift(4)))
        for buffer in buffers:
            ctx.grow(buffer, more)
        child.assemble(ctx, room, more)
        ctx.assign(room, more)


AHEAD = 512
"""The most positions that are assembled before they are needed: 4 KiB of 8-byte elements."""


def ensure_position(ctx: Context, lvl: BoundLevel, pos: Expr, room: Var, *buffers: Buffer) -> None:
    """``append_position`` for a position that may be any distance beyond the assembled ones.

    Twice as many are assembled, at most ``AHEAD`` more than are needed: what is filled is still in
    the cache when it is written. Buffers double by themselves (``Grow``).
    """
    assert lvl.child is not None
    with ctx.if_(pos >= room):
        ahead = (room * 2).max(ctx.lift(4)).min(room + AHEAD)
        more = ctx.let(f"{lvl.name}_more", ahead.max(pos + 1))
        for buffer in buffers:
            ctx.grow(buffer, more)
        lvl.child.assemble(ctx, room, more)
        ctx.assign(room, more)


def append_entry(ctx: Context, lvl: BoundLevel, stored: Var, room: Var, **buffers: int) -> None:
    """Ensure that the named buffers have room for entry ``stored``.

    Each holds the given number of elements more than there are entries. Amortised as
    ``append_position``.
    """
    with ctx.if_(stored >= room):
        more = ctx.let(f"{lvl.name}_more", (room * 2).max(ctx.lift(4)))
        for name, extra in buffers.items():
            ctx.grow(lvl.buffer(name), more + extra)
        ctx.assign(room, more)


def positions_below(ctx: Context, lvl: BoundLevel, stop: Expr) -> Expr:
    """The number of child positions for ``stop`` fibers that store every index.

    Fails as out of memory if it is not representable.
    """
    positions = stop * lvl.shape
    if stop != ONE and not isinstance(lvl.shape, Literal):
        wide = [factor.cast(np.dtype(np.float64)) for factor in (stop, lvl.shape)]
        with ctx.if_(wide[0] * wide[1] > float(MOST_POSITIONS)):
            ctx.fail(OUT_OF_MEMORY)
    return positions


def accumulate_counts(ctx: Context, ptr: Buffer, stop: Any, total: Expr) -> None:
    """Replace the counts in ``ptr[1:stop + 1]`` by their prefix sums: where fibers start and end.
    ``ptr[0]``, where the first one starts, is the caller's to set."""
    require_width(ctx, total, ptr.dtype, "stored entries", "pointer")
    stop = lift(stop)
    if stop == ONE:
        return  # the first count is where the only fiber ends
    sum_ = ctx.var(f"{ptr.name}_sum", 0)
    with ctx.for_("p", 1, stop + 1) as p:
        ctx.assign(sum_, sum_ + Load(ptr, p).cast(INTP))
        ctx.store(ptr, p, sum_)


def counts_of(ctx: Context, ptr: Buffer, stop: Expr) -> Var:
    """The inverse of ``accumulate_counts``. Gives the last position that is not empty (or -1)."""
    before = ctx.var(f"{ptr.name}_before", 0)
    last = ctx.var(f"{ptr.name}_last", -1)
    with ctx.for_("p", 1, stop + 1) as p:
        end = ctx.let(f"{ptr.name}_end", Load(ptr, p), INTP)
        with ctx.if_(before < end):
            ctx.assign(last, p - 1)
        ctx.store(ptr, p, end - before)
        ctx.assign(before, end)
    return last


def check_index_width(ctx: Context, lvl: BoundLevel, dtype: np.dtype[Any]) -> None:
    """Fail unless every index of the level's dimension fits ``dtype``. Of fields of ``indices`` it
    is known: declarations fail before they set such a size."""
    if largest_of(dtype) < largest_of(INTP):
        message, hint = too_long(dtype)
        cond = lvl.shape <= largest_of(dtype)
        ctx.require(cond, IndexOverflow, message, lvl.shape, hint=hint)


def require_width(
    ctx: Context, number: Expr, dtype: np.dtype[Any], what: str, parameter: str = "index"
) -> None:
    """Fail unless ``number`` is representable in ``dtype``, which ``parameter`` of the format
    gives.

    ``what`` names the things counted in the message.
    """
    largest = largest_of(dtype)
    if largest < largest_of(INTP):
        plural = "pointers" if parameter == "pointer" else "indices"
        ctx.require(
            number <= largest,
            IndexOverflow,
            f"{{0}} {what} are too many for {plural} of {dtype}",
            number,
            hint=f"give the level a wider {parameter} dtype, {parameter}=np.int64",
        )


def block(
    ctx: Context, fiber: Fiber, start: Expr, stop: Expr, end: Expr, *, alone: bool = False
) -> Looplet:
    """A block of adjacent subfibers after the fill.

    The fill up to index ``start``, then subfibers at adjacent positions, the last before
    ``end``, up to index ``stop``: the end of the region, or that of the block if the fiber has
    only this one (``alone``).
    """
    shift = ctx.let(f"{fiber.lvl.name}_shift", end - stop)
    inside = Lookup(lambda ctx, i: fiber.subfiber(shift + i))
    fill = Run(fiber.filled())
    if not alone:
        return Sequence((Phase(start, fill), Phase(None, inside)))
    return Sequence((Phase(start, fill), Phase(stop, inside), Phase(None, fill)))


def spare_position(ctx: Context, fiber: Fiber, taken: Expr) -> Expr:
    """The child position for a fiber with one subfiber: its own, or the next if that is ``taken``.

    The level assembles one position more than it has fibers, so that there is a next one.
    """
    return ctx.ifelse(taken, fiber.pos + 1, fiber.pos)


def significant(ctx: Context, fiber: Fiber, dirty: Expr) -> Expr:
    """Whether something other than the fill was written to a fiber.

    Exact for a leaf; for a level, whether anything was written.
    """
    format = fiber.lvl.format
    if not format.is_leaf or not format.holds_fill:
        return dirty
    return dirty.and_(is_fill(fiber.read(ctx), format).not_())


def is_fill(value: Expr, format: Format) -> Expr:
    """Whether a value equals the fill value of a format."""
    fill = Literal(format.fill_value, format.dtype)
    same = same_value(value, fill)
    return same.or_(value.eq(fill)) if concrete(value.dtype).kind in "fc" else same


def require_single(
    ctx: Context, cond: Expr, index: Expr, fiber: Fiber, what: str, instead: str
) -> None:
    """Fail unless ``cond``: the write at ``index`` is the fiber's only one."""
    level = fiber.lvl.format.name
    of = "" if fiber.tensor is None else f" of {fiber}"
    ctx.require(
        cond,
        FormatError,
        f"index {{0}}{of} is written where its {level} holds the one {what} of a fiber already",
        index,
        span=ctx.spans.get(fiber.tensor),
        hint=f"use {instead}, which takes any number",
    )


def same_value(a: Expr, b: Expr) -> Expr:
    """Whether two scalars of one dtype are bitwise equal, where any NaN equals any other."""
    dtype = concrete(a.dtype)
    if is_tuple(dtype):
        fields = [prim.field(k) for k in range(len(tuple_fields(dtype)))]
        parts = [same_value(call(field, a), call(field, b)) for field in fields]
    elif dtype.kind == "c":
        parts = [same_value(call(part, a), call(part, b)) for part in (prim.real, prim.imag)]
    elif dtype.kind == "f":
        signed = [call(prim.copysign, ONE.cast(dtype), x) for x in (a, b)]
        equal = a.eq(b).and_(a.ne(ZERO.cast(dtype)).or_(signed[0].eq(signed[1])))
        return equal.or_(a.ne(a).and_(b.ne(b)))
    else:
        return a.eq(b)
    result = parts[0]
    for part in parts[1:]:
        result = result.and_(part)
    return result
