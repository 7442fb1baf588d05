"""Select: a tensor that is one of two, by a condition, as predicated merges read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from finch_core.interface.level import Format, Mode
from finch_core.interface.tensorlike import Constant, TensorLike
from finch_core.ir.builder import negation
from finch_core.ir.dtypes import Type
from finch_core.ir.expressions import Expr, Literal
from finch_core.ir.program import Extent
from finch_core.looplets.switch import Switch
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.looplet import Looplet
    from finch_core.interface.tensorlike import BoundTensor
    from finch_core.ir.operators import Operator


@frozen
class Select(TensorLike):
    """``yes`` where ``cond`` holds, else ``no``; neither is accessed where it is not selected."""

    cond: Expr
    yes: TensorLike
    no: TensorLike

    @property
    def _model(self) -> TensorLike:
        """The one of the two that knows its origin, dimensions and levels: a fill and what is out
        of bounds do not."""
        if (self.yes.root is None) != (self.no.root is None):
            return self.no if self.yes.root is None else self.yes
        return self.no if isinstance(self.yes, Constant) else self.yes

    @property
    def ndim(self) -> int:
        return self._model.ndim

    @property
    def dtype(self) -> Type:
        return self._model.dtype

    @property
    def fill_value(self) -> Any:
        return self._model.fill_value

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return self._model.dims

    @property
    def root(self) -> BoundTensor | None:
        return self._model.root

    @property
    def whole(self) -> bool:
        return False

    def level_of(self, dim: int) -> Format | None:
        return self._model.level_of(dim)

    def protocol_of(self, dim: int) -> str:
        return self._model.protocol_of(dim)

    def mapped(self, view: Callable[[TensorLike], TensorLike]) -> TensorLike:
        return select(self.cond, self.yes.mapped(view), self.no.mapped(view))

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        yes, no = (part.unfurl(ctx, mode, protocol) for part in (self.yes, self.no))
        return Switch(self.cond, yes, no)

    def read(self, ctx: Context) -> Expr:
        yes = ctx.under(self.cond, lambda: self.yes.read(ctx))
        no = ctx.under(negation(self.cond), lambda: self.no.read(ctx))
        return ctx.ifelse(self.cond, yes, no)

    def is_stored(self, ctx: Context) -> Expr:
        yes = ctx.under(self.cond, lambda: self.yes.is_stored(ctx))
        no = ctx.under(negation(self.cond), lambda: self.no.is_stored(ctx))
        return ctx.ifelse(self.cond, yes, no)

    def update(self, ctx: Context, op: Operator | None, value: Expr) -> None:
        """Updates in place reach the one that is selected."""

        def updated(part: TensorLike) -> None:
            if not part.drops_updates:
                part.update(ctx, op, value)

        ctx.fork(self.cond, lambda: updated(self.yes), lambda: updated(self.no))


def select(cond: Expr, yes: TensorLike, no: TensorLike) -> TensorLike:
    """A ``Select`` of two tensors; one of them, if they are the same or ``cond`` is known."""
    if isinstance(cond, Literal):
        return yes if cond.value else no
    return yes if yes == no else Select(cond, yes, no)


__all__ = ["Select", "select"]
