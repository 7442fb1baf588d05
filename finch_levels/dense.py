"""Dense: every index has a subfiber, at position ``p * shape + i`` (paper, Table "The main level
formats supported by Finch")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.errors import FormatError
from finch_core.interface.offers import Fibers, Offer
from finch_core.ir.expressions import TRUE
from finch_core.level import Format, Mode, Order, Pieces, Sharing, Structure, check_child
from finch_core.looplets import Lookup, Looplet
from finch_core.looplets.routines import positions_below
from finch_core.plugins import hookimpl
from finch_core.records import field, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.rows import Array
    from finch_core.interface.tensorlike import BoundLevel, Fiber
    from finch_core.ir.expressions import Expr


@frozen
class Dense(Format):
    """A level that stores every subfiber: subfiber ``i`` of fiber ``p`` is the child's fiber at
    position ``p * shape + i``.

    Can be read by ``walk`` and ``follow``, and written in any order.
    """

    lvl: Format = field(converter=check_child)

    name: ClassVar[str] = "Dense"
    structure: ClassVar[Structure] = Structure(Pieces.BLOCKS, gaps=False)
    layout: ClassVar[str] = "dense"
    order: ClassVar[Order] = Order.ANY
    reads_updates: ClassVar[bool] = True
    shares: ClassVar[bool] = False
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "follow"})
    stores_fill: ClassVar[bool] = True
    pads: ClassVar[bool] = True
    parallel: ClassVar[frozenset[Sharing]] = frozenset(Sharing)

    def __attrs_post_init__(self) -> None:
        if not self.lvl.holds_fill:
            raise FormatError(
                f"a Dense level stores fill values, which a {self.lvl.name} below it cannot hold",
                hint="Element(False) as the leaf, or a sparse level above the Pattern",
            )

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        below = fibers.positions * fibers.shape
        why = f"{fibers.part(below)} of all indices are stored: coordinates cost more than zeros"
        return (Offer(cls, why, below, 0, fibers.positions * 1.5 + below * 0.085, 0.5, 0.5),)

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        return {}, positions * shape

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        return {}, positions * shape

    def locate(self, fields: Mapping[str, Any], position: int, index: int, shape: int) -> int:
        return position * shape + index

    def from_rows(self, rows: Array, fill: Any) -> tuple[dict[str, Any], Array]:
        return {}, rows.reshape(rows.shape[0] * rows.shape[1], *rows.shape[2:])

    def to_rows(
        self, positions: int, shape: int, fields: Mapping[str, Any], below: Array | None, fill: Any
    ) -> Array:
        assert below is not None
        return below.reshape(positions, shape, *below.shape[1:])

    @property
    def resets(self) -> bool:
        return self.lvl.resets

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        assert lvl.child is not None
        lvl.child.assemble(ctx, start * lvl.shape, positions_below(ctx, lvl, stop))

    def reset(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        assert lvl.child is not None
        lvl.child.reset(ctx, start * lvl.shape, stop * lvl.shape)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        lvl.child.freeze(ctx, stop * lvl.shape)

    def thaw(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        lvl.child.thaw(ctx, stop * lvl.shape)

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        base = fiber.pos * fiber.lvl.shape - fiber.lvl.first
        return Lookup(lambda ctx, i: fiber.subfiber(base + i))

    def join(
        self, ctx: Context, lvl: BoundLevel, part: BoundLevel, start: Expr, count: Expr
    ) -> None:
        assert lvl.child is not None
        assert part.child is not None
        child, shape = lvl.child, lvl.shape
        child.format.join(ctx, child, part.child, start * shape, count * shape)

    def position_from(self, ctx: Context, fiber: Fiber, index: Expr) -> Expr:
        return fiber.pos * fiber.lvl.shape + index

    def alike(
        self, ctx: Context, lvl: BoundLevel, other: BoundLevel, stop: Expr
    ) -> tuple[Expr, Expr]:
        return TRUE, stop * lvl.shape

    def stored_before(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> Expr | None:
        assert lvl.child is not None
        return lvl.child.format.stored_before(ctx, lvl.child, stop * lvl.shape)


@hookimpl
def finch_level_format() -> type[Format]:
    """Register ``Dense``."""
    return Dense
