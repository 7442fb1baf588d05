"""RunList: runs of equal subfibers that cover the dimension (paper, Table "The main level formats
supported by Finch")."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.offers import Fibers, Offer
from finch_core.interface.rows import begin_runs, end_runs, ends_of_fibers
from finch_core.interface.storage import require_index
from finch_core.interface.tensorlike import Fiber
from finch_core.ir.builder import negation
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import FALSE, Expr, Literal, Load, Var
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
from finch_core.looplets import AcceptRun, Lookup, Looplet, Part, Run, Stepper, Thunk
from finch_core.looplets.routines import (
    append_position,
    require_width,
    same_value,
)
from finch_core.plugins import hookimpl
from finch_core.records import field, frozen
from finch_levels.common.compressed import bounds_of, find, indices, pointers, steps, unfurled
from finch_levels.common.resuming import copy_last, declare_last, last_of, require_behind
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
class RunList(Format):
    """A level that divides each fiber into runs of equal subfibers: fiber ``p`` has the runs
    ``ptr[p]`` up to ``ptr[p + 1]``. Run ``q`` ends before index ``right[q]``, where the next one
    begins, and its subfiber is at position ``q``.

    ``index`` and ``pointer`` are the integer dtypes of ``right`` and ``ptr``. Raises
    ``FormatError`` for dtypes that are no integers. Can be read by ``walk``, ``gallop`` and
    ``follow``. Runs are appended in increasing order; indices that are not written become runs of
    fill values. Equal neighbouring runs are merged unless ``merge`` is False: over a leaf when they
    are written, over a level when it is frozen, through a scratch copy of the child. Raises
    ``FormatError`` for a child that cannot store fill values (``Pattern``).
    """

    lvl: Format = field(converter=check_child)
    index: np.dtype[Any] = field(default=INTP, converter=integer_dtype)
    pointer: np.dtype[Any] = field(default=INTP, converter=integer_dtype)
    merge: bool = True

    name: ClassVar[str] = "RunList"
    structure: ClassVar[Structure] = Structure(Pieces.RUNS, gaps=False)
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.JOINED})
    order: ClassVar[Order] = Order.ONCE
    thaws: ClassVar[bool] = False
    resumes: ClassVar[bool] = True
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "gallop", "follow"})
    random_access: ClassVar[str] = "a binary search of its runs"
    stores_fill: ClassVar[bool] = True
    pads: ClassVar[bool] = True

    def __attrs_post_init__(self) -> None:
        if not self.lvl.holds_fill:
            raise FormatError(
                "a RunList stores runs of fill values, which a Pattern below it cannot hold",
                hint="SparseRunList(Pattern()), or an Element(False) leaf",
            )

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        if fibers.runs is None:
            return ()
        make = lambda lvl: cls(lvl, index=fibers.index, pointer=fibers.index)  # noqa: E731
        everything = fibers.positions * fibers.shape
        runs = fibers.runs + fibers.blocks + fibers.positions
        work = fibers.positions + runs * 0.75 + everything * 0.085
        why = f"{everything / max(1, runs):.3g} adjacent equal values in a run, zeros too"
        lookup = 4 * np.log2(runs / max(1, fibers.positions) + 1)
        memory = fibers.bytes(fibers.positions, runs)
        return (Offer(make, why, runs, memory, work, lookup),)

    @property
    def fields(self) -> tuple[Field, ...]:
        scratch = scratch_fields(unmerged(self.lvl)) if merges_late(self) else ()
        return (
            pointers(self.pointer, "where the runs of each fiber start"),
            indices("right", self.index, "the index before which each run ends"),
            *scratch,
        )

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        runs = int(fields["ptr"][positions])
        return {"ptr": positions + 1, "right": runs}, runs

    def locate(self, fields: Mapping[str, Any], position: int, index: int, shape: int) -> int:
        start, stop = int(fields["ptr"][position]), int(fields["ptr"][position + 1])
        found = bisect_right(fields["right"], index, start, stop)
        return found if found < stop else -1

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        require_index(positions, self.pointer, "pointer")
        runs = positions if shape else 0
        starts = np.arange(positions + 1) if shape else np.zeros(positions + 1)
        buffers = {
            "ptr": starts.astype(self.pointer),
            "right": np.full(runs, shape, self.index),
            **empty_scratch(self),
        }
        return buffers, runs

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        from finch_core.runtime.validation import check_cover, check_pointers

        check_pointers("ptr", fields["ptr"], positions)
        check_cover(fields["right"], fields["ptr"][: positions + 1], shape)

    def from_rows(self, rows: Array, fill: Any) -> tuple[dict[str, Any], Array] | None:
        if not self.merge:
            return None
        begins = begin_runs(rows)
        fibers, left = begins.nonzero()
        right = end_runs(begins).nonzero()[1] + 1
        fields = {"ptr": ends_of_fibers(begins), "right": right, **empty_scratch(self)}
        return fields, rows[fibers, left]

    def to_rows(
        self, positions: int, shape: int, fields: Mapping[str, Any], below: Array | None, fill: Any
    ) -> Array:
        assert below is not None
        right = fields["right"][: len(below)].astype(np.intp)
        lengths = np.diff(right, prepend=0)
        starts = fields["ptr"][:positions]
        if shape:
            lengths[starts] = right[starts]
        return below.repeat(lengths, axis=0).reshape(positions, shape, *below.shape[1:])

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        ctx.grow(lvl.buffer("ptr"), 1)
        ctx.store(lvl.buffer("ptr"), 0, 0)
        for name in ("stored", "room", "fibers"):
            lvl.state[name] = ctx.var(f"{lvl.name}_{name}", 0)
        declare_last(ctx, lvl)
        if lvl.resumed:
            for name in ("kept", "kept_to"):
                lvl.state[name] = ctx.var(f"{lvl.name}_{name}", 0)
            lvl.state["kept_gap"] = ctx.var(f"{lvl.name}_kept_gap", False)
        lvl.child.declare(ctx, init)
        if merges_late(self):
            bind_scratch(lvl).declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        ctx.grow(lvl.buffer("ptr"), stop + 1)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        _pass_over(ctx, lvl, stop)
        stored: Expr = lvl.state["stored"]
        require_width(ctx, stored, self.pointer, "stored runs", "pointer")
        if lvl.scratch is not None:
            lvl.scratch.freeze(ctx, stored)
            stored = merge_runs(ctx, lvl, stop, ("right",), lambda q: ctx.lift(True))
        lvl.child.freeze(ctx, stored)

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        return unfurled(fiber, mode, protocol, update=_append, follow=_follow, walk=_walk)


# -- reading --------------------------------------------------------------------------------


def _walk(ctx: Context, fiber: Fiber, kind: type[Stepper]) -> Iterator[Part]:
    """Read run by run."""
    body = lambda ctx, q: Run(fiber.subfiber(q))  # noqa: E731
    yield steps(ctx, fiber, kind, fiber.lvl.buffer("right"), body, None, past=0)


def _follow(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Look each index up by binary search."""
    start, stop = bounds_of(ctx, fiber)

    def lookup(ctx: Context, i: Expr) -> Part:
        return fiber.subfiber(find(ctx, fiber, fiber.lvl.buffer("right"), start, stop, i, past=0))

    yield Lookup(lookup)


# -- writing --------------------------------------------------------------------------------


@frozen
class _Writing:
    """A fiber that is being written: its first run, the index up to which there are runs, whether
    the last run fills a gap, and whether anything was written."""

    fiber: Fiber
    first: Expr
    reached: Var
    gapped: Var
    written: Var

    @property
    def lvl(self) -> BoundLevel:
        return self.fiber.lvl

    @property
    def merges(self) -> bool:
        """Whether equal neighbours are merged when they are written."""
        format = self.lvl.format
        assert isinstance(format, RunList)
        return format.merge and format.lvl.is_leaf

    def fill_to(self, ctx: Context, stop: Expr) -> None:
        """Append a run of fill values up to index ``stop``."""
        stored, right = self.lvl.state["stored"], self.lvl.buffer("right")
        with ctx.if_(self.reached < stop):
            extends: Expr = self.gapped
            if self.merges:
                fill = Literal(self.fiber.fill_value, self.fiber.dtype)
                before = Fiber(_target(self.lvl), stored - 1).read(ctx)
                extends = extends.or_((self.first < stored).and_(same_value(before, fill)))
            with ctx.if_(extends):
                ctx.store(right, stored - 1, stop)
            with ctx.else_():
                _append_run(ctx, self.lvl, stop)
                ctx.assign(self.gapped, True)
            ctx.assign(self.reached, stop)

    def commit(self, ctx: Context, stop: Expr) -> None:
        """Commit the subfiber at the next position as a run up to index ``stop``."""
        with ctx.if_(append_run(ctx, self.lvl, self.first, {"right": stop})):
            ctx.assign(self.gapped, False)
        ctx.assign(self.reached, stop)
        ctx.assign(self.written, True)
        self.fiber.mark(ctx)

    def is_end(self, ctx: Context, start: Expr, stop: Expr) -> Expr:
        """Whether the last run, of a leaf, ends with these indices and begins before them."""
        if last_of(self.lvl) is None or not _target(self.lvl).format.is_leaf:
            return FALSE
        stored = self.lvl.state["stored"]
        left = ctx.ifelse((self.first + 1).eq(stored), 0, self._right(stored - 2))
        stores = (self.first < stored).and_(self.reached.eq(stop)).and_(self.gapped.not_())
        return ctx.let(f"{self.lvl.name}_splits", stores.and_(left < start))

    def _right(self, q: Expr) -> Expr:
        return Load(self.lvl.buffer("right"), q).cast(INTP)

    def is_last(self, ctx: Context, start: Expr, stop: Expr) -> Expr:
        """Whether the last run has these indices, so that a loop behind it updates it again."""
        if last_of(self.lvl) is None:
            return FALSE
        stored = self.lvl.state["stored"]
        left = ctx.ifelse((self.first + 1).eq(stored), 0, self._right(stored - 2))
        stores = (self.first < stored).and_(self.reached.eq(stop)).and_(self.gapped.not_())
        return ctx.let(f"{self.lvl.name}_again", stores.and_(left.eq(start)))

    def keep(self, ctx: Context) -> None:
        """Remember what was written, so that a later loop can go on behind it."""
        last, state = last_of(self.lvl), self.lvl.state
        if last is not None:
            ctx.assign(last, self.fiber.pos)
            ctx.assign(state["kept"], state["stored"])
            ctx.assign(state["kept_to"], self.reached)
            ctx.assign(state["kept_gap"], self.gapped)


def _begin(ctx: Context, fiber: Fiber) -> _Writing:
    """Begin to write a fiber, or go on with the last one that was written."""
    lvl, name, last = fiber.lvl, fiber.lvl.name, last_of(fiber.lvl)
    stored, fibers = lvl.state["stored"], lvl.state["fibers"]
    reached, gapped = ctx.var(f"{name}_reached", 0), ctx.var(f"{name}_gapped", False)
    written = ctx.var(f"{name}_written", False)
    if last is None:
        _pass_over(ctx, lvl, fiber.pos)
        return _Writing(fiber, ctx.let(f"{name}_first", stored), reached, gapped, written)
    first, ptr, right = ctx.var(f"{name}_first", stored), lvl.buffer("ptr"), lvl.buffer("right")
    with ctx.if_(last < fiber.pos):
        _pass_over(ctx, lvl, fiber.pos)
        ctx.assign(first, stored)
    with ctx.if_(last.eq(fiber.pos)):
        ctx.assign(first, Load(ptr, fiber.pos).cast(INTP))
        ctx.assign(stored, lvl.state["kept"])
        ctx.assign(reached, lvl.state["kept_to"])
        ctx.assign(gapped, lvl.state["kept_gap"])
        ctx.assign(fibers, fiber.pos)
        ctx.assign(written, True)
        with ctx.if_(first < stored):  # what was filled behind it may have extended the last run
            ctx.store(right, stored - 1, reached)
    return _Writing(fiber, first, reached, gapped, written)


def _append(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Append runs; if nothing was written to the fiber, remove them again."""
    lvl, name = fiber.lvl, fiber.lvl.name
    stored, fibers = lvl.state["stored"], lvl.state["fibers"]
    writing = _begin(ctx, fiber)

    def over(ctx: Context, start: Expr, stop: Expr) -> Iterator[Part]:
        writing.fill_to(ctx, start)
        _make_room(ctx, lvl)
        again, splits = writing.is_last(ctx, start, stop), writing.is_end(ctx, start, stop)
        copy_last(ctx, _target(lvl), stored, splits)
        dirty = ctx.var(f"{name}_dirty", False)
        yield Fiber(_target(lvl), ctx.ifelse(again, stored - 1, stored), dirty, fiber.tensor)
        with ctx.if_(dirty):
            behind = again.or_(splits).or_(writing.reached <= start)
            require_behind(ctx, fiber, behind, start)
            ctx.fork(splits, lambda: ctx.store(lvl.buffer("right"), stored - 1, start))
            ctx.fork(negation(again), lambda: writing.commit(ctx, stop))
        clean = splits.and_(negation(dirty))
        ctx.fork(clean, lambda: _target(lvl).assemble(ctx, stored, stored + 1))

    yield AcceptRun(lambda ctx, start, stop: Thunk(lambda ctx: over(ctx, start, stop)))
    with ctx.if_(writing.written):
        writing.keep(ctx)
        writing.fill_to(ctx, lvl.shape)
        ctx.store(lvl.buffer("ptr"), fiber.pos + 1, stored)
        ctx.assign(fibers, fiber.pos + 1)
    with ctx.else_():
        ctx.assign(stored, writing.first)


def _target(lvl: BoundLevel) -> BoundLevel:
    """The level that subfibers are written to: the scratch level, or the child."""
    target = lvl.scratch or lvl.child
    assert target is not None
    return target


def _make_room(ctx: Context, lvl: BoundLevel) -> None:
    state = lvl.state
    right = lvl.buffer("right")
    append_position(ctx, lvl, state["stored"], state["room"], right, child=_target(lvl))


def _append_run(ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
    """Append a run of fill values up to index ``stop``."""
    _make_room(ctx, lvl)
    stored = lvl.state["stored"]
    ctx.store(lvl.buffer("right"), stored, stop)
    ctx.assign(stored, stored + 1)


def _pass_over(ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
    """Complete the fibers before ``stop``: each that was skipped gets one run of fill values. A
    parent that removed a subfiber may write that position again, so the runs after it are
    discarded."""
    fibers, stored, ptr = lvl.state["fibers"], lvl.state["stored"], lvl.buffer("ptr")
    with ctx.if_(stop < fibers):
        ctx.assign(stored, Load(ptr, stop).cast(INTP))
    with ctx.else_(), ctx.for_("r", fibers, stop) as r:
        with ctx.if_(lvl.shape > 0):
            _append_run(ctx, lvl, lvl.shape)
        ctx.store(ptr, r + 1, stored)
    ctx.assign(fibers, stop)


@hookimpl
def finch_level_format() -> type[Format]:
    return RunList


__all__ = ["RunList"]
