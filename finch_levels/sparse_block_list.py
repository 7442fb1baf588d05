"""SparseBlockList: blocks of adjacent stored subfibers, in order (paper, Table "The main level
formats supported by Finch")."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.interface.offers import Fibers, Offer
from finch_core.ir.builder import negation
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import FALSE, Expr, Load, Var
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
from finch_core.looplets import Lookup, Looplet, Part, Run, Stepper, Switch, Thunk
from finch_core.looplets.routines import (
    accumulate_counts,
    append_entry,
    append_position,
    block,
    ensure_position,
    require_width,
)
from finch_core.plugins import hookimpl
from finch_core.records import field, frozen
from finch_levels.common.compressed import bounds_of, find, indices, pointers, steps, unfurled
from finch_levels.common.resuming import declare_last, last_of, mark_last, require_behind

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, Fiber


@frozen
class SparseBlockList(Format):
    """A level that stores blocks of adjacent subfibers: fiber ``p`` has the blocks ``ptr[p]`` up to
    ``ptr[p + 1]``. Block ``q`` ends with index ``idx[q]`` and has the positions ``ofs[q]`` up to
    ``ofs[q + 1]``.

    ``index`` is the integer dtype of ``idx``, ``pointer`` that of ``ptr`` and ``ofs``. Raises
    ``FormatError`` for dtypes that are no integers. Can be read by ``walk``, ``gallop`` and
    ``follow``; within a block, positions are contiguous. Subfibers are appended in increasing
    order; adjacent ones form a block.
    """

    lvl: Format = field(converter=check_child)
    index: np.dtype[Any] = field(default=INTP, converter=integer_dtype)
    pointer: np.dtype[Any] = field(default=INTP, converter=integer_dtype)

    name: ClassVar[str] = "SparseBlockList"
    structure: ClassVar[Structure] = Structure(Pieces.BLOCKS)
    order: ClassVar[Order] = Order.ONCE
    shares: ClassVar[bool] = False
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.IN_PLACE, Sharing.JOINED})
    thaws: ClassVar[bool] = False
    resumes: ClassVar[bool] = True
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "gallop", "follow"})
    random_access: ClassVar[str] = "a binary search of its blocks"

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        make = lambda lvl: cls(lvl, index=fibers.index, pointer=fibers.index)  # noqa: E731
        length = fibers.stored / max(1, fibers.blocks)
        changes = fibers.changes * (1 + fibers.variation)
        ends = max(fibers.surprise, 3.0 * changes)  # of fibers and of blocks: two to foresee
        work = fibers.positions + fibers.blocks * 1.4 + fibers.stored * 0.085 + ends
        memory = fibers.bytes(fibers.positions, fibers.blocks, fibers.blocks)
        lookup = 4 * np.log2(fibers.blocks / max(1, fibers.filled) + 1)
        why = f"{length:.3g} adjacent indices in a block"
        return (Offer(make, why, fibers.stored, memory, work, lookup),)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (
            pointers(self.pointer, "where the blocks of each fiber start"),
            indices("idx", self.index, "the last index of each block"),
            Field("ofs", self.pointer, "where the subfibers of each block start", nonnegative=True),
        )

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        blocks = int(fields["ptr"][positions])
        sizes = {"ptr": positions + 1, "idx": blocks, "ofs": blocks + 1}
        return sizes, int(fields["ofs"][blocks])

    def locate(self, fields: Mapping[str, Any], position: int, index: int, shape: int) -> int:
        start, stop = int(fields["ptr"][position]), int(fields["ptr"][position + 1])
        block = bisect_left(fields["idx"], index, start, stop)
        if block == stop:
            return -1
        found = int(fields["ofs"][block + 1]) - 1 - (int(fields["idx"][block]) - index)
        return found if found >= fields["ofs"][block] else -1

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        buffers = {
            "ptr": np.zeros(positions + 1, self.pointer),
            "idx": np.empty(0, self.index),
            "ofs": np.zeros(1, self.pointer),
        }
        return buffers, 0

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        from finch_core.runtime.validation import check_block_starts, check_indices, check_pointers

        check_pointers("ptr", fields["ptr"], positions)
        ptr = fields["ptr"][: positions + 1]
        check_indices("idx", fields["idx"], ptr, shape)
        check_pointers("ofs", fields["ofs"], int(ptr[-1]))
        check_block_starts(fields["idx"], fields["ofs"], ptr)

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        for name in ("ptr", "ofs"):
            ctx.grow(lvl.buffer(name), 1)
            ctx.store(lvl.buffer(name), 0, 0)
        for name in ("blocks", "block_room", "stored", "room"):
            lvl.state[name] = ctx.var(f"{lvl.name}_{name}", 0)
        declare_last(ctx, lvl)
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        ctx.grow(lvl.buffer("ptr"), stop + 1)
        ctx.fill(lvl.buffer("ptr"), start + 1, stop + 1, 0)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        stored = lvl.state["stored"]
        accumulate_counts(ctx, lvl.buffer("ptr"), stop, lvl.state["blocks"])
        require_width(ctx, stored, self.pointer, "stored entries", "pointer")
        lvl.child.freeze(ctx, stored)

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        return unfurled(fiber, mode, protocol, update=_append, follow=_follow, walk=_walk)


def _walk(ctx: Context, fiber: Fiber, kind: type[Stepper]) -> Iterator[Part]:
    """Read block by block."""
    body = lambda ctx, q: Thunk(lambda ctx: _block(ctx, fiber, q), steady=True)  # noqa: E731
    idx, fill = fiber.lvl.buffer("idx"), Run(fiber.filled())
    yield steps(ctx, fiber, kind, idx, body, fill, anchored=True)


def _block(ctx: Context, fiber: Fiber, q: Expr) -> Iterator[Part]:
    """Fill values up to block ``q``, then the block."""
    lvl, ofs = fiber.lvl, fiber.lvl.buffer("ofs")
    q = ctx.let(f"{lvl.name}_now", q)
    last = ctx.let(f"{lvl.name}_last", Load(lvl.buffer("idx"), q), INTP)
    ctx.prover.define(last, Load(lvl.buffer("idx"), q))
    end = ctx.let(f"{lvl.name}_end", Load(ofs, q + 1), INTP)
    start = ctx.let(f"{lvl.name}_start", last + 1 - (end - Load(ofs, q).cast(INTP)))
    ctx.prover.know_le(start, last)
    yield block(ctx, fiber, start, last + 1, end)


def _follow(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Look each index up by binary search."""
    idx, ofs = fiber.lvl.buffer("idx"), fiber.lvl.buffer("ofs")
    start, stop = bounds_of(ctx, fiber)

    def lookup(ctx: Context, i: Expr) -> Part:
        q = find(ctx, fiber, idx, start, stop, i)
        pos = Load(ofs, q + 1).cast(INTP) - (Load(idx, q).cast(INTP) + 1 - i)
        found = (q < stop).and_(pos >= Load(ofs, q).cast(INTP))
        return Switch(found, fiber.subfiber(pos), fiber.filled())

    yield Lookup(lookup)


def _append(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Append a subfiber for each index that is written: to the last block if it is adjacent, else
    as a new block."""
    lvl, name = fiber.lvl, fiber.lvl.name
    stored, room, blocks = (lvl.state[key] for key in ("stored", "room", "blocks"))
    first, last = ctx.let(f"{name}_first", blocks), last_of(lvl)
    begun, reached = ctx.lift(0), ctx.lift(-1)
    if last is not None:
        begun = ctx.let(f"{name}_begun", Load(lvl.buffer("ptr"), fiber.pos + 1), INTP)
        end = Load(lvl.buffer("idx"), blocks - 1).cast(INTP) + 1
        reached = ctx.ifelse((begun > 0).and_(last <= fiber.pos), end, -1)
    following = ctx.var(f"{name}_next", reached)

    def commit(ctx: Context, i: Expr) -> None:
        with ctx.if_(following.ne(i)):
            append_entry(ctx, lvl, blocks, lvl.state["block_room"], idx=0, ofs=1)
            ctx.assign(blocks, blocks + 1)
        ctx.assign(stored, stored + 1)
        ctx.assign(following, i + 1)
        _end_block(ctx, lvl, blocks, i, stored)

    def at(ctx: Context, i: Expr) -> Iterator[Part]:
        append_position(ctx, lvl, stored, room)
        again: Expr = FALSE if last is None else ctx.let(f"{name}_again", following.eq(i + 1))
        dirty = ctx.var(f"{name}_dirty", False)
        yield fiber.subfiber(ctx.ifelse(again, stored - 1, stored), dirty)
        with ctx.if_(dirty):
            require_behind(ctx, fiber, following <= i + 1, i)
            ctx.fork(negation(again), lambda: commit(ctx, i))
            fiber.mark(ctx)

    def over(ctx: Context, start: Expr, stop: Expr) -> Iterator[Part]:
        begin = ctx.bind(f"{name}_begin", start)
        pos = ctx.let(f"{name}_pos", stored)
        beyond = ctx.let(f"{name}_beyond", pos + (stop - begin))
        ensure_position(ctx, lvl, beyond - 1, room)
        yield Lookup(lambda ctx, i: fiber.subfiber(pos + (i - begin)))
        with ctx.if_(following.ne(begin)):
            append_entry(ctx, lvl, blocks, lvl.state["block_room"], idx=0, ofs=1)
            ctx.assign(blocks, blocks + 1)
        ctx.assign(stored, beyond)
        ctx.assign(following, stop)
        _end_block(ctx, lvl, blocks, stop - 1, stored)
        fiber.mark(ctx)

    # not where an index may come again, nor over a leaf that may store nothing
    assert lvl.child is not None
    whole = last is None and lvl.child.format.holds_fill
    yield Lookup(
        lambda ctx, i: Thunk(lambda ctx: at(ctx, i)),
        (lambda ctx, i, j: Thunk(lambda ctx: over(ctx, i, j))) if whole else None,
    )
    ctx.store(lvl.buffer("ptr"), fiber.pos + 1, begun + (blocks - first))
    mark_last(ctx, fiber, first < blocks)


def _end_block(ctx: Context, lvl: BoundLevel, blocks: Var, last: Expr, stored: Expr) -> None:
    """Let the last block end with index ``last``, and before position ``stored``."""
    ctx.store(lvl.buffer("idx"), blocks - 1, last)
    ctx.store(lvl.buffer("ofs"), blocks, stored)


@hookimpl
def finch_level_format() -> type[Format]:
    return SparseBlockList


__all__ = ["SparseBlockList"]
