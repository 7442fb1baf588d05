"""ShortCircuitScalar: a scalar whose reductions leave their loops once its value cannot change
(paper, Table "The main level formats supported by Finch", Figure "Using a ShortCircuitScalar")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.ir.builder import negation
from finch_core.ir.expressions import Expr
from finch_core.level import Format, Mode
from finch_core.looplets.short_circuit import fixed_point, inexact_fixed_point
from finch_core.plugins import hookimpl
from finch_core.records import frozen
from finch_core.runtime.tensor import Tensor
from finch_levels.scalar import ScalarLeaf

if TYPE_CHECKING:
    import numpy as np

    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import Fiber
    from finch_core.operators import Operator


@frozen(eq=False)
class ShortCircuitScalarLeaf(ScalarLeaf):
    """A leaf with one value; a loop that reduces into it tests after each step whether the value
    can still change."""

    name: ClassVar[str] = "ShortCircuitScalar"
    settles: ClassVar[bool] = True

    def unwrap(
        self, ctx: Context, fiber: Fiber, mode: Mode, op: Operator | None, value: Expr | None
    ) -> Expr | None:
        """Read or update the value as a ``Scalar`` does, but a product of floats that is zero stays
        zero."""
        val = fiber.lvl.scalar("val")
        kept = None
        if mode is Mode.UPDATE and op is not None and value is not None and not ctx.strict:
            kept = inexact_fixed_point(op, val, value)
        if kept is None:
            return super().unwrap(ctx, fiber, mode, op, value)
        with ctx.if_(negation(kept)):
            return super().unwrap(ctx, fiber, mode, op, value)

    def settled(
        self, ctx: Context, fiber: Fiber, op: Operator, dtype: np.dtype[Any]
    ) -> Expr | None:
        return fixed_point(op, fiber.lvl.scalar("val"), dtype, exact=ctx.strict)


def ShortCircuitScalar(fill: Any = 0.0, dtype: Any = None) -> Tensor:  # noqa: N802 - a format
    """A 0-dimensional tensor with the value ``fill``, whose reductions short-circuit.

    A loop that reduces into it ends early when the value is the operator's annihilator (for
    ``choose(z)``: any value but ``z``); other statements of the loop run to its end. A product of
    floats that is zero stays zero, even if NaN or infinity follow, except in a ``strict`` kernel.
    ``dtype`` defaults to the dtype of ``fill``. Raises ``FormatError`` for a dtype that is not
    supported or cannot represent ``fill``.
    """
    return Tensor(ShortCircuitScalarLeaf(fill, dtype=dtype))


ShortCircuitScalar.__finch_local__ = True  # type: ignore[attr-defined]


@hookimpl
def finch_scalar() -> type[Format]:
    """Register ``ShortCircuitScalar``."""
    """Register ``ShortCircuitScalar``."""
    return ShortCircuitScalarLeaf
