"""SparseScalar: a scalar with a flag whether it was written, so that its reads are specialised for
the fill value (paper, Table "The main level formats supported by Finch")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.interface.tensorlike import Constant
from finch_core.ir.dtypes import BOOL
from finch_core.ir.expressions import FALSE, Expr, Literal
from finch_core.level import Field, Format, Mode
from finch_core.looplets import Switch
from finch_core.plugins import hookimpl
from finch_core.records import frozen
from finch_core.runtime.tensor import Tensor
from finch_levels.scalar import ScalarLeaf

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, Fiber
    from finch_core.operators import Operator


@frozen(eq=False)
class SparseScalarLeaf(ScalarLeaf):
    """A leaf with one value, and a flag whether it was written since it was declared."""

    name: ClassVar[str] = "SparseScalar"

    @property
    def fields(self) -> tuple[Field, ...]:
        dirty = Field("dirty", BOOL, "whether the value was written", is_buffer=False, init=False)
        return (*super().fields, dirty)

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        return {"val": self.fill, "dirty": False}, 0

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        super().declare(ctx, lvl, init)
        ctx.assign(lvl.scalar("dirty"), FALSE)

    def unwrap(
        self, ctx: Context, fiber: Fiber, mode: Mode, op: Operator | None, value: Expr | None
    ) -> Expr | None:
        if mode is Mode.UPDATE:
            ctx.assign(fiber.lvl.scalar("dirty"), True)
        return super().unwrap(ctx, fiber, mode, op, value)

    def is_stored(self, ctx: Context, fiber: Fiber) -> Expr:
        return fiber.lvl.scalar("dirty")

    def cases(self, ctx: Context, fiber: Fiber) -> Switch:
        value, fill = fiber.lvl.scalar("val"), Literal(self.fill, self.type, structural=True)
        return Switch(fiber.lvl.scalar("dirty"), Constant(value), Constant(fill))


def SparseScalar(fill: Any = 0.0, dtype: Any = None) -> Tensor:  # noqa: N802 - a format
    """A 0-dimensional tensor with the value ``fill`` that is stored only when it is written.

    Code that reads it branches on whether it was written; where it was not, the fill value is
    substituted and the code simplified, or skipped. ``dtype`` defaults to the dtype of ``fill``.
    Raises ``FormatError`` for a dtype that is not supported or cannot represent ``fill``.
    """
    return Tensor(SparseScalarLeaf(fill, dtype=dtype))


SparseScalar.__finch_local__ = True  # type: ignore[attr-defined]


@hookimpl
def finch_scalar() -> type[Format]:
    """Register ``SparseScalar``."""
    """Register ``SparseScalar``."""
    return SparseScalarLeaf
