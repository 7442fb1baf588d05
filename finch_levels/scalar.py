"""Scalar: a 0-dimensional tensor, kept in a register while a kernel runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.ir.expressions import Expr, call
from finch_core.level import Field, Format, Mode, Sharing
from finch_core.plugins import hookimpl
from finch_core.records import frozen
from finch_core.runtime.tensor import Tensor
from finch_levels.common.value_leaf import ValueLeaf

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, Fiber
    from finch_core.operators import Operator


@frozen(eq=False)
class ScalarLeaf(ValueLeaf):
    """A leaf with one value, kept in the tensor's record."""

    name: ClassVar[str] = "Scalar"
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.COPIED})

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field("val", self.type, "the value", is_buffer=False, init=self.fill),)

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        return {}, 0

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        return {"val": self.fill}, 0

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        ctx.assign(lvl.scalar("val"), init)

    def unwrap(
        self, ctx: Context, fiber: Fiber, mode: Mode, op: Operator | None, value: Expr | None
    ) -> Expr | None:
        val = fiber.lvl.scalar("val")
        if mode is Mode.READ or value is None:
            return val
        ctx.assign(val, value if op is None else call(op, val, value))
        return None


def Scalar(fill: Any = 0.0, dtype: Any = None) -> Tensor:  # noqa: N802 - a format's name
    """A 0-dimensional tensor with the value ``fill``; its property ``value`` reads it.

    ``dtype`` defaults to the dtype of ``fill``. Raises ``FormatError`` for a dtype that is not
    supported or cannot represent ``fill``.
    """
    return Tensor(ScalarLeaf(fill, dtype=dtype))


Scalar.__finch_local__ = True  # type: ignore[attr-defined]


@hookimpl
def finch_scalar() -> type[Format]:
    """Register ``Scalar``."""
    return ScalarLeaf
