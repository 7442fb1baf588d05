"""The storage of a variable: of a plain name that a kernel assigns more than once.

It is the core's own, as plain names are part of the language: no plugin is needed for them. A
variable is a 0-dimensional local in a register, so that all that is known of updates (reductions,
lanes, locals that nothing reads) holds for it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.interface.abilities import Sharing
from finch_core.interface.level import Format, Mode
from finch_core.interface.storage import Field
from finch_core.ir.expressions import call
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, Fiber
    from finch_core.ir.expressions import Expr
    from finch_core.ir.operators import Operator


@frozen
class Variable(Format):
    """One value in a register. It has no fill: what is assigned to it is a number like any
    other."""

    type: np.dtype[Any]

    name: ClassVar[str] = "Variable"
    is_leaf: ClassVar[bool] = True
    is_variable: ClassVar[bool] = True
    reads_updates: ClassVar[bool] = True
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.COPIED})

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type

    @property
    def fill_value(self) -> Any:
        return None

    @property
    def fields(self) -> tuple[Field, ...]:
        zero = np.zeros((), self.type)[()]
        return (Field("val", self.type, "the value", is_buffer=False, init=zero),)

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        ctx.assign(lvl.scalar("val"), init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        pass

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        pass

    def thaw(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        pass

    def unwrap(
        self, ctx: Context, fiber: Fiber, mode: Mode, op: Operator | None, value: Expr | None
    ) -> Expr | None:
        val = fiber.lvl.scalar("val")
        if mode is Mode.READ or value is None:
            return val
        ctx.assign(val, value if op is None else call(op, val, value))
        return None


__all__ = ["Variable"]
