"""SparseBand: one block of adjacent stored subfibers in each fiber (paper, Table "The main level
formats supported by Finch")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.offers import Fibers, Offer
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Expr, Load
from finch_core.level import (
    Field,
    Format,
    Mode,
    Order,
    Pieces,
    Sharing,
    Structure,
    check_child,
    integer_dtype,
)
from finch_core.looplets import Lookup, Looplet, Part, Switch, Thunk
from finch_core.looplets.routines import (
    accumulate_counts,
    block,
    ensure_position,
)
from finch_core.plugins import hookimpl
from finch_core.records import field, frozen
from finch_levels.common.resuming import declare_last, last_of, mark_last, require_behind

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, Fiber


@frozen
class SparseBand(Format):
    """A level that stores one block of adjacent subfibers in each fiber: the block of fiber ``p``
    ends with index ``idx[p]`` (0 if it is empty) and has the positions ``ofs[p]`` up to
    ``ofs[p + 1]``.

    ``index`` and ``pointer`` are the integer dtypes of ``idx`` and ``ofs``. Raises ``FormatError``
    for dtypes that are no integers. Can be read by ``walk`` and ``follow``, both without a search.
    Subfibers are appended in increasing order. If a write leaves a gap, fill values are stored
    there; over a ``Pattern``, which cannot store them, the kernel raises ``FormatError``.
    """

    lvl: Format = field(converter=check_child)
    index: np.dtype[Any] = field(default=INTP, converter=integer_dtype)
    pointer: np.dtype[Any] = field(default=INTP, converter=integer_dtype)

    name: ClassVar[str] = "SparseBand"
    structure: ClassVar[Structure] = Structure(Pieces.BLOCKS, single=True, pads=True)
    order: ClassVar[Order] = Order.ONCE
    shares: ClassVar[bool] = False
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.IN_PLACE, Sharing.JOINED})
    thaws: ClassVar[bool] = False
    resumes: ClassVar[bool] = True
    pads: ClassVar[bool] = True
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "follow"})

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        make = lambda lvl: cls(lvl, index=fibers.index, pointer=fibers.index)  # noqa: E731
        work = fibers.positions * 1.5 + fibers.spans * 0.09
        why = f"{fibers.part(fibers.spans)} of each fiber's stretch is stored: one block a fiber"
        memory = fibers.bytes(fibers.positions, fibers.positions)
        return (Offer(make, why, fibers.spans, memory, work, 1.5),)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (
            Field("idx", self.index, "the last index of each fiber's block", indices=True),
            Field("ofs", self.pointer, "where the subfibers of each block start"),
        )

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        return {"idx": positions, "ofs": positions + 1}, int(fields["ofs"][positions])

    def locate(self, fields: Mapping[str, Any], position: int, index: int, shape: int) -> int:
        start, stop = int(fields["ofs"][position]), int(fields["ofs"][position + 1])
        found = stop - 1 - (int(fields["idx"][position]) - index)
        return found if start <= found < stop else -1

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        buffers = {
            "idx": np.zeros(positions, self.index),
            "ofs": np.zeros(positions + 1, self.pointer),
        }
        return buffers, 0

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        from finch_core.runtime.validation import check_bands, check_pointers

        check_pointers("ofs", fields["ofs"], positions)
        check_bands(fields["idx"], fields["ofs"], positions, shape)

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        ctx.grow(lvl.buffer("ofs"), 1)
        ctx.store(lvl.buffer("ofs"), 0, 0)
        for name in ("stored", "room"):
            lvl.state[name] = ctx.var(f"{lvl.name}_{name}", 0)
        declare_last(ctx, lvl)
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        ctx.grow(lvl.buffer("idx"), stop)
        ctx.fill(lvl.buffer("idx"), start, stop, 0)
        ctx.grow(lvl.buffer("ofs"), stop + 1)
        ctx.fill(lvl.buffer("ofs"), start + 1, stop + 1, 0)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        accumulate_counts(ctx, lvl.buffer("ofs"), stop, lvl.state["stored"])
        lvl.child.freeze(ctx, lvl.state["stored"])

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        if mode is Mode.UPDATE:
            return Thunk(lambda ctx: _append(ctx, fiber))
        return Thunk(lambda ctx: _read(ctx, fiber, protocol))


def _read(ctx: Context, fiber: Fiber, protocol: str) -> Iterator[Part]:
    lvl, ofs = fiber.lvl, fiber.lvl.buffer("ofs")
    end = ctx.let(f"{lvl.name}_end", Load(ofs, fiber.pos + 1), INTP)
    count = end - Load(ofs, fiber.pos).cast(INTP)
    last = Load(lvl.buffer("idx"), fiber.pos).cast(INTP)
    # an empty fiber has 0, which is out of bounds if the dimension is 0
    stop = ctx.let(f"{lvl.name}_stop", last + lvl.shape.min(1))
    start = ctx.let(f"{lvl.name}_start", stop - count)
    ctx.prover.know_le(ctx.lift(0), start)
    ctx.prover.know_le(start, stop)
    ctx.prover.know_le(stop, lvl.shape)
    if protocol == "follow":
        shift = end - stop

        def lookup(ctx: Context, i: Expr) -> Part:
            inside = (start <= i).and_(i < stop)
            return Switch(inside, fiber.subfiber(shift + i), fiber.filled())

        yield Lookup(lookup)
    else:
        yield block(ctx, fiber, start, stop, end, alone=True)


def _append(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Append a subfiber to the band; skipped indices in between hold fill values."""
    lvl, name = fiber.lvl, fiber.lvl.name
    child = lvl.child
    assert child is not None
    stored, room = lvl.state["stored"], lvl.state["room"]
    first, last = ctx.let(f"{name}_first", stored), last_of(lvl)
    begun, reached = ctx.lift(0), ctx.lift(-1)
    if last is not None:
        begun = ctx.let(f"{name}_begun", Load(lvl.buffer("ofs"), fiber.pos + 1), INTP)
        end = Load(lvl.buffer("idx"), fiber.pos).cast(INTP) + 1
        reached = ctx.ifelse((begun > 0).and_(last <= fiber.pos), end, -1)
    following = ctx.var(f"{name}_next", reached)

    def at(ctx: Context, i: Expr) -> Iterator[Part]:
        gap, again = ctx.ifelse(stored.eq(first), 0, i - following), ctx.lift(False)
        if last is not None:
            gap = ctx.let(f"{name}_gap", ctx.ifelse(following < 0, 0, (i - following).max(0)))
            again = following.eq(i + 1)
        pos = ctx.let(f"{name}_pos", ctx.ifelse(again, stored - 1, stored + gap))
        ensure_position(ctx, lvl, pos, room)
        dirty = ctx.var(f"{name}_dirty", False)
        yield fiber.subfiber(pos, dirty)
        with ctx.if_(dirty):
            require_behind(ctx, fiber, following <= i + 1, i)
            if not child.format.holds_fill:
                _require_adjacent(ctx, fiber, gap, i)
            ctx.assign(stored, pos + 1)
            ctx.assign(following, i + 1)
            fiber.mark(ctx)

    def over(ctx: Context, start: Expr, stop: Expr) -> Iterator[Part]:
        begin = ctx.bind(f"{name}_begin", start)
        gap = ctx.let(f"{name}_gap", ctx.ifelse(stored.eq(first), 0, begin - following))
        pos = ctx.let(f"{name}_pos", stored + gap)
        beyond = ctx.let(f"{name}_beyond", pos + (stop - begin))
        ensure_position(ctx, lvl, beyond - 1, room)
        yield Lookup(lambda ctx, i: fiber.subfiber(pos + (i - begin)))
        ctx.assign(stored, beyond)
        ctx.assign(following, stop)
        fiber.mark(ctx)

    # not where an index may come again, nor over a leaf that may store nothing
    whole = last is None and child.format.holds_fill
    yield Lookup(
        lambda ctx, i: Thunk(lambda ctx: at(ctx, i)),
        (lambda ctx, i, j: Thunk(lambda ctx: over(ctx, i, j))) if whole else None,
    )
    ctx.store(lvl.buffer("ofs"), fiber.pos + 1, begun + (stored - first))
    with ctx.if_(first < stored):
        ctx.store(lvl.buffer("idx"), fiber.pos, following - 1)
    mark_last(ctx, fiber, first < stored)


def _require_adjacent(ctx: Context, fiber: Fiber, gap: Expr, i: Expr) -> None:
    """Refuse a gap between writes over a child that cannot store fill values."""
    ctx.require(
        gap.eq(0),
        FormatError,
        f"index {{0}} of {fiber} is not adjacent to its band, which cannot store the fill between",
        i,
        span=ctx.spans.get(fiber.tensor),
        hint="use an Element(False) leaf, or SparseBlockList, which takes any number of blocks",
    )


@hookimpl
def finch_level_format() -> type[Format]:
    return SparseBand


__all__ = ["SparseBand"]
