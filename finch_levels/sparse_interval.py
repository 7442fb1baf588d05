"""SparseInterval: one stored run in each fiber (paper, Table "The main level formats supported by
Finch")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.interface.capacity import Limit, only_first_run
from finch_core.interface.offers import Fibers, Offer
from finch_core.interface.tensorlike import Fiber
from finch_core.ir.builder import negation
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
from finch_core.looplets import (
    AcceptRun,
    Lookup,
    Looplet,
    Part,
    Phase,
    Run,
    Sequence,
    Switch,
    Thunk,
)
from finch_core.looplets.routines import (
    require_single,
    same_value,
    significant,
    spare_position,
)
from finch_core.plugins import hookimpl
from finch_core.records import evolve, field, frozen
from finch_levels.common.resuming import declare_last, last_of, mark_last, require_behind
from finch_levels.common.runs import (
    bind_scratch,
    constant_shapes,
    copy_subfiber,
    differ,
    empty_scratch,
    scratch_fields,
    stores,
    unmerged,
)
from finch_levels.sparse_run_list import SparseRunList

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, BoundTensor


@frozen
class SparseInterval(Format):
    """A level that stores at most one run of equal subfibers in each fiber: the run of fiber ``p``
    has the indices ``left[p]`` to ``right[p]``, inclusive, and its subfiber is at position ``p``.
    An empty fiber has the dimension in ``left[p]``.

    ``index`` is the integer dtype of ``left`` and ``right``. Raises ``FormatError`` for dtypes that
    are no integers. Can be read by ``walk`` and ``follow``, both without a search. A write that
    continues the run with an equal subfiber extends it; any other second write to a fiber raises
    ``FormatError``. Values are compared when they are written. Subfibers are compared when the
    level is frozen; until then they are kept in a SparseRunList.
    """

    lvl: Format = field(converter=check_child)
    index: np.dtype[Any] = field(default=INTP, converter=integer_dtype)

    name: ClassVar[str] = "SparseInterval"
    structure: ClassVar[Structure] = Structure(Pieces.RUNS, single=True)
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.JOINED})
    order: ClassVar[Order] = Order.ONCE
    thaws: ClassVar[bool] = False
    resumes: ClassVar[bool] = True
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "follow"})
    limit: ClassVar[Limit] = staticmethod(only_first_run)

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        if fibers.runs is None or fibers.most_runs is None or fibers.most_runs > 1:
            return ()
        memory = fibers.bytes(fibers.positions, fibers.positions)
        work = fibers.positions * 1.5 + fibers.stored * 0.06
        make = lambda lvl: cls(lvl, index=fibers.index)  # noqa: E731
        why = "at most one run of equal values in a fiber: one value, two ends"
        return (Offer(make, why, fibers.positions, memory, work, 1.5),)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (
            Field("left", self.index, "the first index of each fiber's run", indices=True),
            Field("right", self.index, "the last index of each fiber's run", indices=True),
            *(() if self.lvl.is_leaf else scratch_fields(self._unsettled)),
        )

    @property
    def _unsettled(self) -> Format:
        """The format that holds the runs of fibers until the level is frozen."""
        return SparseRunList(unmerged(self.lvl), index=self.index, merge=False)

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        return {"left": positions, "right": positions}, positions

    def locate(self, fields: Mapping[str, Any], position: int, index: int, shape: int) -> int:
        inside = fields["left"][position] <= index <= fields["right"][position]
        return position if inside else -1

    def entries(self, positions: int, shape: int, fields: Mapping[str, Any], below: int) -> int:
        return int(np.count_nonzero(fields["left"][:positions] < shape))

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        buffers = {
            "left": np.full(positions, shape, self.index),
            "right": np.full(positions, max(shape, 1) - 1, self.index),
            **empty_scratch(self),
        }
        return buffers, positions

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        from finch_core.runtime.validation import check_range, check_runs

        check_range("left", fields["left"], positions, 0, shape)
        check_range("right", fields["right"], positions, 0, max(shape, 1) - 1)
        left, right = fields["left"][:positions], fields["right"][:positions]
        check_runs(left, right, left < shape)

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        declare_last(ctx, lvl)
        lvl.child.declare(ctx, init)
        if not self.lvl.is_leaf:
            bind_scratch(lvl, self._unsettled).declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        assert lvl.child is not None
        for name, value in (("left", lvl.shape), ("right", lvl.shape.max(ctx.lift(1)) - 1)):
            ctx.grow(lvl.buffer(name), stop)
            ctx.fill(lvl.buffer(name), start, stop, value)
        if lvl.scratch is not None:
            lvl.scratch.assemble(ctx, start, stop)
            lvl.child.assemble(ctx, start, stop)
        else:
            lvl.child.assemble(ctx, start, stop + 1)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        if lvl.scratch is not None:
            lvl.scratch.freeze(ctx, stop)
            with constant_shapes(ctx, lvl.scratch, lvl):
                _settle(ctx, lvl, lvl.scratch, stop)
        lvl.child.freeze(ctx, stop)

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        if mode is Mode.READ:
            return Thunk(lambda ctx: _read(ctx, fiber, protocol))
        if fiber.lvl.scratch is not None:
            return evolve(fiber, lvl=fiber.lvl.scratch).unfurl(ctx, mode, protocol)
        return Thunk(lambda ctx: _write(ctx, fiber))


def _read(ctx: Context, fiber: Fiber, protocol: str) -> Iterator[Part]:
    lvl = fiber.lvl
    stored, fill = fiber.subfiber(fiber.pos), fiber.filled()
    left = ctx.let(f"{lvl.name}_left", Load(lvl.buffer("left"), fiber.pos), INTP)
    last = Load(lvl.buffer("right"), fiber.pos).cast(INTP)
    stop = ctx.let(f"{lvl.name}_stop", (last + 1).min(lvl.shape))
    ctx.prover.know_le(ctx.lift(0), left)
    ctx.prover.know_le(left, stop)
    ctx.prover.know_le(stop, lvl.shape)
    if protocol == "follow":
        yield Lookup(lambda ctx, i: Switch((left <= i).and_(i < stop), stored, fill))
    else:
        yield Sequence((Phase(left, Run(fill)), Phase(stop, Run(stored)), Phase(None, Run(fill))))


def _write(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Write one run. Later writes go to a spare position, where they are compared with the run:
    they must extend it, or write nothing but fill values."""
    lvl, name = fiber.lvl, fiber.lvl.name
    resumed = last_of(lvl) is not None
    left, right = (Load(lvl.buffer(end), fiber.pos).cast(INTP) for end in ("left", "right"))
    taken = ctx.var(f"{name}_taken", left < lvl.shape if resumed else False)
    reached = ctx.var(f"{name}_reached", ctx.ifelse(taken, right + 1, 0) if resumed else 0)

    def over(ctx: Context, start: Expr, stop: Expr) -> Iterator[Part]:
        dirty = ctx.var(f"{name}_dirty", False)
        other: Expr = taken
        if resumed:
            same = left.eq(start).and_(reached.eq(stop))
            other = ctx.let(f"{name}_other", taken.and_(negation(same)))
        subfiber = fiber.subfiber(ctx.let(f"{name}_pos", spare_position(ctx, fiber, other)), dirty)
        yield subfiber
        with ctx.if_(significant(ctx, subfiber, dirty)):
            require_behind(ctx, fiber, ctx.lift(True), start)
            with ctx.if_(other):
                extends = reached.eq(start).and_(_continues(ctx, fiber))
                require_single(ctx, extends, start, fiber, "run", "SparseRunList")
            with ctx.else_():
                ctx.store(lvl.buffer("left"), fiber.pos, start)
                ctx.assign(taken, True)
            ctx.assign(reached, stop)
            fiber.mark(ctx)

    yield AcceptRun(lambda ctx, start, stop: Thunk(lambda ctx: over(ctx, start, stop)))
    with ctx.if_(taken):
        ctx.store(lvl.buffer("right"), fiber.pos, reached - 1)
    mark_last(ctx, fiber, taken)


def _continues(ctx: Context, fiber: Fiber) -> Expr:
    """Whether the spare position has the value of the run; resets the spare position."""
    child = fiber.lvl.child
    assert child is not None
    spare = fiber.pos + 1
    value = ctx.let(f"{fiber.lvl.name}_value", fiber.subfiber(spare).read(ctx))
    child.assemble(ctx, spare, spare + 1)
    return same_value(fiber.subfiber(fiber.pos).read(ctx), value)


def _settle(ctx: Context, lvl: BoundLevel, runs: BoundLevel, stop: Expr) -> None:
    """Copy fibers up to ``stop`` from their frozen lists of runs. The runs of a fiber that hold
    other than fill values must be adjacent and equal."""
    name, ptr, source, target = lvl.name, runs.buffer("ptr"), runs.child, lvl.child
    assert source is not None
    assert target is not None
    tensor = _written(ctx, lvl)
    with ctx.for_("p", 0, stop) as p:
        first, reached = ctx.var(f"{name}_run", -1), ctx.var(f"{name}_reached", 0)
        with ctx.for_("q", Load(ptr, p).cast(INTP), Load(ptr, p + 1).cast(INTP)) as q:
            run = Fiber(source, q)
            with ctx.if_(stores(ctx, run)):
                start = ctx.let(f"{name}_start", Load(runs.buffer("left"), q), INTP)
                extends = ctx.var(f"{name}_extends", first < 0)
                with ctx.if_((first >= 0).and_(reached.eq(start))):
                    ctx.assign(extends, differ(ctx, Fiber(source, first), run).not_())
                fiber = Fiber(lvl, p, None, tensor)
                require_single(ctx, extends, start, fiber, "run", "SparseRunList")
                with ctx.if_(first < 0):
                    ctx.assign(first, q)
                    ctx.store(lvl.buffer("left"), p, start)
                ctx.assign(reached, Load(runs.buffer("right"), q).cast(INTP) + 1)
        with ctx.if_(first >= 0):
            copy_subfiber(ctx, Fiber(source, first), Fiber(target, p, tensor=tensor))
            ctx.store(lvl.buffer("right"), p, reached - 1)


def _written(ctx: Context, lvl: BoundLevel) -> BoundTensor | None:
    """The tensor that a level is part of, if the program writes to it; for messages."""
    parts = lvl.parts.values()
    tensor: BoundTensor | None
    for tensor in ctx.spans:
        if tensor is not None and any(
            part in parts for level in tensor.level.levels() for part in level.parts.values()
        ):
            return tensor
    return None


@hookimpl
def finch_level_format() -> type[Format]:
    return SparseInterval


__all__ = ["SparseInterval"]
