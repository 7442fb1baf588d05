"""What leaves that hold values have in common: a fill value, a dtype, and nothing to prepare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.errors import FormatError
from finch_core.level import Format, leaf_dtype
from finch_core.operators import exact_value
from finch_core.records import field, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel
    from finch_core.ir.expressions import Expr


@frozen(eq=False)
class ValueLeaf(Format):
    """A leaf of values of one dtype; what is not stored is ``fill``.

    ``dtype`` is the fill's where none is given. Raises ``FormatError`` if ``fill``
    is not a fill value.
    Fills are compared by their bits, so that NaN equals itself and ``-0.0`` differs from ``0.0``.
    """

    fill: Any = 0.0
    type: np.dtype[Any] = field(default=None, alias="dtype")

    is_leaf: ClassVar[bool] = True
    reads_updates: ClassVar[bool] = True

    def __attrs_post_init__(self) -> None:
        dtype = leaf_dtype(self.fill, self.type)
        object.__setattr__(self, "type", dtype)
        try:
            object.__setattr__(self, "fill", exact_value(self.fill, dtype))
        except (TypeError, ValueError) as error:
            raise FormatError(
                f"{self.fill!r} is not a fill value for {dtype}: {error}",
                hint="a wider dtype, Element(fill, np.float64), or a fill that it can hold",
            ) from None

    def _key(self) -> tuple[Any, ...]:
        return (type(self), self.type, self.fill.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValueLeaf) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type

    @property
    def fill_value(self) -> Any:
        return self.fill

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        pass

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        pass

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        pass

    def thaw(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        pass
