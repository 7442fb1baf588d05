"""SparseRunList: runs of equal subfibers, except runs of fill values (paper, Table "The main level
formats supported by Finch")."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.interface.offers import Fibers, Offer
from finch_core.interface.rows import are_stored, begin_runs, end_runs, ends_of_fibers, fibers_of
from finch_core.interface.tensorlike import Fiber
from finch_core.ir.builder import negation
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import FALSE, Expr, Load
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
from finch_core.looplets import (
    AcceptRun,
    Lookup,
    Looplet,
    Part,
    Phase,
    Run,
    Sequence,
    Stepper,
    Switch,
    Thunk,
)
from finch_core.looplets.routines import (
    accumulate_counts,
    append_position,
)
from finch_core.plugins import hookimpl
from finch_core.records import field, frozen
from finch_levels.common.compressed import bounds_of, find, indices, pointers, steps, unfurled
from finch_levels.common.resuming import copy_last, declare_last, last_of, mark_last, require_behind
from finch_levels.common.runs import (
    append_run,
    bind_scratch,
    empty_scratch,
    merge_runs,
    merges_late,
    scratch_fields,
    unmerged,
)

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.rows import Array
    from finch_core.interface.tensorlike import BoundLevel


@frozen
class SparseRunList(Format):
    """A level of runs with gaps: those of fiber ``p`` are ``ptr[p]`` up to ``ptr[p + 1]``, and run
    ``q`` goes from index ``left[q]`` to ``right[q]`` (its last), with its subfiber at position
    ``q``.

    ``index`` is the dtype of ``left`` and ``right``, ``pointer`` that of ``ptr``. Raises
    ``FormatError`` for dtypes that are no integers. Reads walk, gallop or follow. Writes append in
    order, whole runs at once. Adjacent runs that are equal are merged, unless ``merge`` is False:
    over a leaf as they are written, over a level when it is frozen, by way of a scratch copy of the
    child.
    """

    lvl: Format = field(converter=check_child)
    index: np.dtype[Any] = field(default=INTP, converter=integer_dtype)
    pointer: np.dtype[Any] = field(default=INTP, converter=integer_dtype)
    merge: bool = True

    name: ClassVar[str] = "SparseRunList"
    structure: ClassVar[Structure] = Structure(Pieces.RUNS)
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.JOINED})
    order: ClassVar[Order] = Order.ONCE
    thaws: ClassVar[bool] = False
    resumes: ClassVar[bool] = True
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "gallop", "follow"})
    random_access: ClassVar[str] = "a binary search of its runs"

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        if fibers.runs is None:
            return ()
        make = lambda lvl: cls(lvl, index=fibers.index, pointer=fibers.index)  # noqa: E731
        work = fibers.positions + fibers.runs * 0.75 + fibers.stored * 0.06 + fibers.surprise
        memory = fibers.bytes(fibers.positions, fibers.runs, fibers.runs)
        why = f"{fibers.stored / max(1, fibers.runs):.3g} adjacent equal values in a run"
        lookup = 4 * np.log2(fibers.runs / max(1, fibers.filled) + 1)
        return (Offer(make, why, fibers.runs, memory, work, lookup),)

    @property
    def fields(self) -> tuple[Field, ...]:
        scratch = scratch_fields(unmerged(self.lvl)) if merges_late(self) else ()
        return (
            pointers(self.pointer, "where the runs of each fiber start"),
            indices("left", self.index, "the first index of each run"),
            indices("right", self.index, "the last index of each run"),
            *scratch,
        )

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        runs = int(fields["ptr"][positions])
        return {"ptr": positions + 1, "left": runs, "right": runs}, runs

    def locate(self, fields: Mapping[str, Any], position: int, index: int, shape: int) -> int:
        start, stop = int(fields["ptr"][position]), int(fields["ptr"][position + 1])
        found = bisect_left(fields["right"], index, start, stop)
        return found if found < stop and fields["left"][found] <= index else -1

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        buffers = {
            "ptr": np.zeros(positions + 1, self.pointer),
            "left": np.empty(0, self.index),
            "right": np.empty(0, self.index),
            **empty_scratch(self),
        }
        return buffers, 0

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        from finch_core.runtime.validation import check_indices, check_pointers, check_starts

        check_pointers("ptr", fields["ptr"], positions)
        ptr = fields["ptr"][: positions + 1]
        check_indices("right", fields["right"], ptr, shape)
        check_starts(fields["left"], fields["right"], ptr)

    def from_rows(self, rows: Array, fill: Any) -> tuple[dict[str, Any], Array] | None:
        if not self.merge:
            return None
        new, stored = begin_runs(rows), are_stored(rows, fill)
        begins, ends = new & stored, end_runs(new) & stored
        fibers, left = begins.nonzero()
        fields = {
            "ptr": ends_of_fibers(begins),
            "left": left,
            "right": ends.nonzero()[1],
            **empty_scratch(self),
        }
        return fields, rows[fibers, left]

    def to_rows(
        self, positions: int, shape: int, fields: Mapping[str, Any], below: Array | None, fill: Any
    ) -> Array:
        assert below is not None
        rows = np.full((positions, shape, *below.shape[1:]), fill, below.dtype)
        runs = len(below)
        first = fields["left"][:runs].astype(np.intp)
        lengths = fields["right"][:runs].astype(np.intp) + 1 - first
        places = np.arange(int(lengths.sum())) + (first - (lengths.cumsum() - lengths)).repeat(
            lengths
        )
        fibers = fibers_of(fields["ptr"], positions).repeat(lengths)
        rows[fibers, places] = below.repeat(lengths, axis=0)
        return rows

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        ctx.grow(lvl.buffer("ptr"), 1)
        ctx.store(lvl.buffer("ptr"), 0, 0)
        for name in ("stored", "room"):
            lvl.state[name] = ctx.var(f"{lvl.name}_{name}", 0)
        declare_last(ctx, lvl)
        lvl.child.declare(ctx, init)
        if merges_late(self):
            bind_scratch(lvl).declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        ctx.grow(lvl.buffer("ptr"), stop + 1)
        ctx.fill(lvl.buffer("ptr"), start + 1, stop + 1, 0)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        stored: Expr = lvl.state["stored"]
        accumulate_counts(ctx, lvl.buffer("ptr"), stop, stored)
        if lvl.scratch is not None:
            lvl.scratch.freeze(ctx, stored)
            stored = merge_runs(ctx, lvl, stop, ("left", "right"), lambda q: _adjacent(lvl, q))
        lvl.child.freeze(ctx, stored)

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        return unfurled(fiber, mode, protocol, update=_append, follow=_follow, walk=_walk)


def _adjacent(lvl: BoundLevel, q: Expr) -> Expr:
    """Whether run ``q`` is adjacent to the previous run."""
    before = Load(lvl.buffer("right"), q - 1).cast(INTP)
    return (before + 1).eq(Load(lvl.buffer("left"), q).cast(INTP))


# -- reading --------------------------------------------------------------------------------


def _walk(ctx: Context, fiber: Fiber, kind: type[Stepper]) -> Iterator[Part]:
    """Read run by run."""
    body = lambda ctx, q: Thunk(lambda ctx: _run(ctx, fiber, q), steady=True)  # noqa: E731
    right, fill = fiber.lvl.buffer("right"), Run(fiber.filled())
    yield steps(ctx, fiber, kind, right, body, fill, anchored=True)


def _run(ctx: Context, fiber: Fiber, q: Expr) -> Iterator[Part]:
    """Fill values up to run ``q``, then the run."""
    lvl, right = fiber.lvl, fiber.lvl.buffer("right")
    q = ctx.let(f"{lvl.name}_now", q)
    last = ctx.let(f"{lvl.name}_last", Load(right, q), INTP)
    left = ctx.let(f"{lvl.name}_first", Load(lvl.buffer("left"), q), INTP)
    ctx.prover.define(last, Load(right, q))
    ctx.prover.know_le(left, last)
    yield Sequence((Phase(left, Run(fiber.filled())), Phase(None, Run(fiber.subfiber(q)))))


def _follow(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Look each index up by binary search."""
    left, right = fiber.lvl.buffer("left"), fiber.lvl.buffer("right")
    start, stop = bounds_of(ctx, fiber)

    def lookup(ctx: Context, i: Expr) -> Part:
        q = find(ctx, fiber, right, start, stop, i)
        found = (q < stop).and_(Load(left, q).cast(INTP) <= i)
        return Switch(found, fiber.subfiber(q), fiber.filled())

    yield Lookup(lookup)


# -- writing --------------------------------------------------------------------------------


def _append_run(ctx: Context, lvl: BoundLevel, first: Expr, ends: Mapping[str, Expr]) -> None:
    append_run(ctx, lvl, first, ends)


def _append(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Append a run for each range of indices that is written."""
    lvl, name = fiber.lvl, fiber.lvl.name
    target = lvl.scratch or lvl.child
    assert target is not None
    stored, left, right = lvl.state["stored"], lvl.buffer("left"), lvl.buffer("right")
    first, begun, last = ctx.let(f"{name}_first", stored), ctx.lift(0), last_of(lvl)
    begin: Expr = first
    if last is not None:
        begun = ctx.let(f"{name}_begun", Load(lvl.buffer("ptr"), fiber.pos + 1), INTP)
        begin = ctx.let(f"{name}_begin", first - ctx.ifelse(last <= fiber.pos, begun, 0))

    def over(ctx: Context, start: Expr, stop: Expr) -> Iterator[Part]:
        append_position(ctx, lvl, stored, lvl.state["room"], left, right, child=target)
        again: Expr = FALSE
        splits: Expr = FALSE
        reached = ctx.lift(-1)
        if last is not None:
            ends = [Load(buffer, stored - 1).cast(INTP) for buffer in (left, right)]
            reached = ctx.let(f"{name}_end", ctx.ifelse(begin < stored, ends[1], -1))
            same = (begin < stored).and_(ends[0].eq(start)).and_(reached.eq(stop - 1))
            again = ctx.let(f"{name}_again", same)
            if target.format.is_leaf:
                ends_so = (begin < stored).and_(reached.eq(stop - 1)).and_(ends[0] < start)
                splits = ctx.let(f"{name}_splits", ends_so)
        copy_last(ctx, target, stored, splits)
        dirty = ctx.var(f"{name}_dirty", False)
        yield Fiber(target, ctx.ifelse(again, stored - 1, stored), dirty, fiber.tensor)
        with ctx.if_(dirty):
            require_behind(ctx, fiber, again.or_(splits).or_(reached < start), start)
            ctx.fork(splits, lambda: ctx.store(right, stored - 1, start - 1))
            run = {"left": start, "right": stop - 1}
            ctx.fork(negation(again), lambda: _append_run(ctx, lvl, begin, run))
            fiber.mark(ctx)
        clean = splits.and_(negation(dirty))
        ctx.fork(clean, lambda: target.assemble(ctx, stored, stored + 1))

    yield AcceptRun(lambda ctx, start, stop: Thunk(lambda ctx: over(ctx, start, stop)))
    ctx.store(lvl.buffer("ptr"), fiber.pos + 1, begun + (stored - first))
    mark_last(ctx, fiber, first < stored)


@hookimpl
def finch_level_format() -> type[Format]:
    return SparseRunList


__all__ = ["SparseRunList"]
