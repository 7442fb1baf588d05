"""Element: the leaf that stores one value at each position (paper, Table "The main level formats
supported by Finch")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.ir.expressions import Expr, Literal, Load, call
from finch_core.level import Field, Format, Mode, Sharing
from finch_core.plugins import hookimpl
from finch_core.records import frozen
from finch_levels.common.value_leaf import ValueLeaf

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.rows import Array
    from finch_core.interface.tensorlike import BoundLevel, Fiber
    from finch_core.operators import Operator


@frozen(eq=False)
class Element(ValueLeaf):
    """A leaf that stores a value at each position; elements that are not stored equal ``fill``.

    ``Element(fill, dtype=None)``: ``fill`` is a number, or a tuple of numbers for a structured
    dtype; ``dtype`` defaults to the dtype of ``fill``. Raises ``FormatError`` for a dtype that is
    not supported or cannot represent ``fill``.
    """

    name: ClassVar[str] = "Element"
    layout: ClassVar[str] = "values"
    parallel: ClassVar[frozenset[Sharing]] = frozenset(Sharing) - {Sharing.ROWS}

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field("val", self.type, "the value at each position"),)

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        return {"val": positions}, 0

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        return {"val": np.full(positions, self.fill, self.type)}, 0

    def value_at(self, fields: Mapping[str, Any], position: int) -> Any:
        value = fields["val"][position]
        return value if self.type.names is None else value.copy()

    def from_rows(self, rows: Array, fill: Any) -> tuple[dict[str, Any], Array]:
        return {"val": rows}, rows

    def to_rows(
        self, positions: int, shape: int, fields: Mapping[str, Any], below: Array | None, fill: Any
    ) -> Array:
        values: Array = fields["val"][:positions]
        return values

    @property
    def resets(self) -> bool:
        return True

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        ctx.grow(lvl.buffer("val"), stop)
        ctx.fill(lvl.buffer("val"), start, stop, Literal(self.fill, self.type))

    def reset(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        if ctx.prover.equal(start + 1, stop):
            ctx.store(lvl.buffer("val"), start, Literal(self.fill, self.type))
        else:
            ctx.fill(lvl.buffer("val"), start, stop, Literal(self.fill, self.type))

    def join(
        self, ctx: Context, lvl: BoundLevel, part: BoundLevel, start: Expr, count: Expr
    ) -> None:
        ctx.grow(lvl.buffer("val"), start + count)
        ctx.move(lvl.buffer("val"), start, part.buffer("val"), 0, count)

    def unwrap(
        self, ctx: Context, fiber: Fiber, mode: Mode, op: Operator | None, value: Expr | None
    ) -> Expr | None:
        stored = Load(fiber.lvl.buffer("val"), fiber.pos)
        if mode is Mode.READ or value is None:
            return stored
        ctx.store(stored.buffer, stored.index, value if op is None else call(op, stored, value))
        fiber.mark(ctx)
        return None


@hookimpl
def finch_level_format() -> type[Format]:
    """Register ``Element``."""
    return Element
