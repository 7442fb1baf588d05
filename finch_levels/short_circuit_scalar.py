"""ShortCircuitScalar: a scalar whose reductions end their loops once nothing changes it any more
(paper, Table "The main level formats supported by Finch", Figure "Using a ShortCircuitScalar")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.ir.expressions import Expr
from finch_core.level import Format
from finch_core.looplets.short_circuit import fixed_point
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
    """One value; a loop that reduces into it looks after each step whether that is of use still."""

    name: ClassVar[str] = "ShortCircuitScalar"

    def settled(
        self, ctx: Context, fiber: Fiber, op: Operator, dtype: np.dtype[Any]
    ) -> Expr | None:
        return fixed_point(op, fiber.lvl.scalar("val"), dtype, exact=ctx.strict)


def ShortCircuitScalar(fill: Any = 0.0, dtype: Any = None) -> Tensor:  # noqa: N802 - a format
    """A 0-dimensional tensor that starts as ``fill``. A loop that reduces into it ends when the
    value is the operator's annihilator (any value but ``z`` for ``choose(z)``); what else the loop
    does is done to its end. A product of floats ends at zero, whether or not NaN or infinity would
    come yet; in a ``strict`` kernel it does not."""
    return Tensor(ShortCircuitScalarLeaf(fill, dtype=dtype))


ShortCircuitScalar.__finch_local__ = True  # type: ignore[attr-defined]


@hookimpl
def finch_scalar() -> type[Format]:
    """Register ``ShortCircuitScalar``."""
    """Register ``ShortCircuitScalar``."""
    return ShortCircuitScalarLeaf
