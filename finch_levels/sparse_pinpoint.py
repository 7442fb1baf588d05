"""SparsePinpoint: one stored subfiber in each fiber (paper, Table "The main level formats supported
by Finch")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.interface.capacity import Limit, only_first
from finch_core.interface.offers import Fibers, Offer
from finch_core.ir.builder import negation
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Expr, Load
from finch_core.level import (
    Field,
    Format,
    Mode,
    Order,
    Sharing,
    Structure,
    check_child,
    integer_dtype,
)
from finch_core.looplets import Lookup, Looplet, Part, Phase, Run, Sequence, Switch, Thunk
from finch_core.looplets.routines import (
    require_single,
    significant,
    spare_position,
)
from finch_core.plugins import hookimpl
from finch_core.records import field, frozen
from finch_levels.common.compressed import indices
from finch_levels.common.resuming import declare_last, last_of, mark_last, require_behind

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, Fiber


@frozen
class SparsePinpoint(Format):
    """A level that stores at most one subfiber in each fiber: the subfiber of fiber ``p`` has index
    ``idx[p]`` and position ``p``. An empty fiber has the dimension in ``idx[p]``.

    ``index`` is the integer dtype of ``idx``. Raises ``FormatError`` for dtypes that are no
    integers. Can be read by ``walk`` and ``follow``, both without a search. Writing at a second
    index of a fiber raises ``FormatError``.
    """

    lvl: Format = field(converter=check_child)
    index: np.dtype[Any] = field(default=INTP, converter=integer_dtype)

    name: ClassVar[str] = "SparsePinpoint"
    structure: ClassVar[Structure] = Structure(single=True)
    order: ClassVar[Order] = Order.ONCE
    shares: ClassVar[bool] = False
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.IN_PLACE, Sharing.JOINED})
    thaws: ClassVar[bool] = False
    resumes: ClassVar[bool] = True
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "follow"})
    limit: ClassVar[Limit] = staticmethod(only_first)

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        if fibers.longest > 1:
            return ()
        memory, why = fibers.bytes(fibers.positions), "at most one index in a fiber: no loop"
        make = lambda lvl: cls(lvl, index=fibers.index)  # noqa: E731
        return (Offer(make, why, fibers.positions, memory, fibers.positions * 0.4, 1),)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (indices("idx", self.index, "the index of each fiber's subfiber, if any"),)

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        return {"idx": positions}, positions

    def locate(self, fields: Mapping[str, Any], position: int, index: int, shape: int) -> int:
        return position if fields["idx"][position] == index else -1

    def entries(self, positions: int, shape: int, fields: Mapping[str, Any], below: int) -> int:
        return int(np.count_nonzero(fields["idx"][:positions] < shape))

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        return {"idx": np.full(positions, shape, self.index)}, positions

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        from finch_core.runtime.validation import check_range

        check_range("idx", fields["idx"], positions, 0, shape)

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        declare_last(ctx, lvl)
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        assert lvl.child is not None
        ctx.grow(lvl.buffer("idx"), stop)
        ctx.fill(lvl.buffer("idx"), start, stop, lvl.shape)
        lvl.child.assemble(ctx, start, stop + 1)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        lvl.child.freeze(ctx, stop)

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        if mode is Mode.UPDATE:
            return Thunk(lambda ctx: _write(ctx, fiber))
        return Thunk(lambda ctx: _read(ctx, fiber, protocol))


def _read(ctx: Context, fiber: Fiber, protocol: str) -> Iterator[Part]:
    lvl = fiber.lvl
    stored, fill = fiber.subfiber(fiber.pos), fiber.filled()
    at = ctx.let(f"{lvl.name}_at", Load(lvl.buffer("idx"), fiber.pos), INTP)
    ctx.prover.know_le(ctx.lift(0), at)
    ctx.prover.know_le(at, lvl.shape)
    if protocol == "follow":
        yield Lookup(lambda ctx, i: Switch(at.eq(i), stored, fill))
    else:
        yield Sequence((Phase(at, Run(fill)), Phase(at + 1, Run(stored)), Phase(None, Run(fill))))


def _write(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Write at one index. Later writes go to a spare position, where they must write nothing but
    fill values."""
    lvl, name = fiber.lvl, fiber.lvl.name
    resumed, at_now = last_of(lvl) is not None, Load(lvl.buffer("idx"), fiber.pos).cast(INTP)
    taken = ctx.var(f"{name}_taken", at_now < lvl.shape if resumed else False)

    def at(ctx: Context, i: Expr) -> Iterator[Part]:
        dirty = ctx.var(f"{name}_dirty", False)
        other: Expr = taken
        if resumed:
            other = ctx.let(f"{name}_other", taken.and_(at_now.ne(i)))
        subfiber = fiber.subfiber(ctx.let(f"{name}_pos", spare_position(ctx, fiber, other)), dirty)
        yield subfiber
        with ctx.if_(significant(ctx, subfiber, dirty)):
            require_behind(ctx, fiber, ctx.lift(True), i)
            require_single(ctx, negation(other), i, fiber, "nonzero", "SparseList")
            ctx.store(lvl.buffer("idx"), fiber.pos, i)
            ctx.assign(taken, True)
            fiber.mark(ctx)

    yield Lookup(lambda ctx, i: Thunk(lambda ctx: at(ctx, i)))
    mark_last(ctx, fiber, taken)


@hookimpl
def finch_level_format() -> type[Format]:
    return SparsePinpoint


__all__ = ["SparsePinpoint"]
