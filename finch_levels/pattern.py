"""Pattern: the leaf without memory: stored elements are True, all others False (paper, Table "The
main level formats supported by Finch")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.errors import FormatError
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import BOOL
from finch_core.ir.expressions import TRUE, Expr
from finch_core.level import Field, Format, Mode, Order, Sharing
from finch_core.plugins import hookimpl
from finch_core.records import field, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, Fiber
    from finch_core.operators import Operator


def _only_false(instance: object, attribute: object, fill: Any) -> None:
    if not isinstance(fill, (bool, np.bool_)) or fill:
        raise FormatError(
            f"Pattern stores True where something is stored: its fill is False, not {fill!r}",
            hint="Element(fill) takes any fill value",
        )


@frozen
class Pattern(Format):
    """A leaf without values: True at each stored position, False elsewhere.

    It stands below a level that leaves out what is not stored; alone, it makes no tensor.

    Raises ``FormatError`` for another fill value than False.
    """

    fill: bool = field(default=False, validator=_only_false)

    name: ClassVar[str] = "Pattern"
    order: ClassVar[Order] = Order.ANY
    is_leaf: ClassVar[bool] = True
    holds_fill: ClassVar[bool] = False
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.JOINED})

    @property
    def dtype(self) -> np.dtype[Any]:
        return BOOL

    @property
    def fill_value(self) -> Any:
        return np.False_

    @property
    def fields(self) -> tuple[Field, ...]:
        return ()

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        return {}, 0

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        return {}, 0

    def value_at(self, fields: Mapping[str, Any], position: int) -> Any:
        return np.True_

    @property
    def resets(self) -> bool:
        return True

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        pass

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        pass

    def reset(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        pass

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        pass

    def thaw(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        pass

    def join(
        self, ctx: Context, lvl: BoundLevel, part: BoundLevel, start: Expr, count: Expr
    ) -> None:
        pass

    def unwrap(
        self, ctx: Context, fiber: Fiber, mode: Mode, op: Operator | None, value: Expr | None
    ) -> Expr | None:
        if mode is Mode.READ or value is None:
            return TRUE
        if op not in _SETTING:
            raise FormatError(
                f"a Pattern cannot be updated by {op and op.spelling}: it can only become True",
                hint="use =, |= or max, or an Element(False) leaf",
            )
        if op is None and fiber.dirty is not None:
            ctx.assign(fiber.dirty, value)  # the last write before the entry is committed counts
        else:
            ctx.fork(value, lambda: fiber.mark(ctx))
        return None


_SETTING = (None, prim.bitor, prim.or_, prim.maximum, prim.maximum_)


@hookimpl
def finch_level_format() -> type[Format]:
    """Register ``Pattern``."""
    return Pattern
