"""Views of what a tensor stores: whether it stores an element, and its elements as targets of
updates in place (see ``finch_core/lower/in_place.py``).

Both are read as the tensor itself is, by the same looplets: a loop over ``stored(A)[i]``, ``A[i]``
and the target ``in_place(A)[i]`` walks ``A`` once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from finch_core.interface.level import Format, Mode
from finch_core.interface.tensorlike import BoundTensor, Constant, TensorLike
from finch_core.ir.dtypes import BOOL, Type
from finch_core.ir.expressions import Expr
from finch_core.ir.program import Extent
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.looplet import Looplet
    from finch_core.ir.operators import Operator


@frozen
class View(TensorLike):
    """``inner``, with another meaning of its elements. Loops ask ``inner`` for looplets."""

    inner: TensorLike

    @property
    def ndim(self) -> int:
        return self.inner.ndim

    @property
    def dtype(self) -> Type:
        return self.inner.dtype

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return self.inner.dims

    @property
    def root(self) -> BoundTensor | None:
        return self.inner.root

    def level_of(self, dim: int) -> Format | None:
        return self.inner.level_of(dim)

    def protocol_of(self, dim: int) -> str:
        return self.inner.protocol_of(dim)

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        raise AssertionError("the looplets of a view are those of the tensor inside")


@frozen
class StoredView(View):
    """Whether each element of ``inner`` is stored."""

    def __str__(self) -> str:
        return f"stored({self.inner})"

    @property
    def dtype(self) -> Type:
        return BOOL

    def read(self, ctx: Context) -> Expr:
        return self.inner.is_stored(ctx)


@frozen
class InPlace(View):
    """The stored elements of ``inner``; an update of one that is not stored has no effect."""

    def __str__(self) -> str:
        return f"in_place({self.inner})"

    @property
    def fill_value(self) -> Any:
        return self.inner.fill_value

    def update(self, ctx: Context, op: Operator | None, value: Expr) -> None:
        self.inner.update(ctx, op, value)

    @property
    def drops_updates(self) -> bool:
        return isinstance(self.inner, Constant) or self.inner.drops_updates


__all__ = ["InPlace", "StoredView", "View"]
