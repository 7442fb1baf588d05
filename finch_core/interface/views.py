"""Views of what a tensor stores: whether it stores an element, and its elements as targets of
updates in place (see ``finch_core/lower/in_place.py``).

Both are read as the tensor itself is, by the same looplets: a loop over ``stored(A)[i]``, ``A[i]``
and the target ``in_place(A)[i]`` walks ``A`` once. So are other tensors of the same pattern, beside
it (``finch_core/lower/equal_patterns.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from finch_core.interface.level import Format, Mode
from finch_core.interface.tensorlike import BoundTensor, Constant, Fiber, TensorLike
from finch_core.ir.dtypes import BOOL, Type
from finch_core.ir.expressions import Expr, Literal
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

    @property
    def kind(self) -> Callable[[TensorLike], TensorLike]:
        """What makes such a view of another tensor-like."""
        return type(self)

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
        return self.inner.drops_updates


@frozen
class Beside(View):
    """``other`` at the positions of ``inner``, a tensor-like of a tensor with ``depth`` dimensions
    whose levels are alike: the loops over these walk ``inner`` alone."""

    other: BoundTensor
    depth: int

    def __str__(self) -> str:
        return str(self.other)

    @property
    def _passed(self) -> int:
        """How many dimensions of ``other`` have been walked."""
        return self.depth - self.inner.ndim

    @property
    def ndim(self) -> int:
        return self.other.fiber.ndim - self._passed

    @property
    def dtype(self) -> Type:
        return self.other.fiber.dtype

    @property
    def fill_value(self) -> Any:
        return self.other.fiber.fill_value

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return self.other.fiber.dims[self._passed :]

    def level_of(self, dim: int) -> Format | None:
        return self.other.fiber.level_of(self._passed + dim)

    @property
    def kind(self) -> Callable[[TensorLike], TensorLike]:
        return _SeenBeside(self.other, self.depth)


@frozen
class _SeenBeside:
    """Makes what of ``other`` is beside a part of a tensor with ``depth`` dimensions."""

    other: BoundTensor
    depth: int

    def __call__(self, inner: TensorLike) -> TensorLike:
        return self._of(inner) if inner.ndim else inner.mapped(self._of)

    def _of(self, inner: TensorLike) -> TensorLike:
        whole = self.other.fiber
        if isinstance(inner, Constant):
            fill = Literal(whole.fill_value, whole.dtype, structural=True)
            return Constant(fill, whole.ndim - self.depth + inner.ndim)
        if isinstance(inner, Fiber) and not inner.ndim:
            return Fiber(self.other.level.levels()[self.depth], inner.pos, tensor=self.other)
        return Beside(inner, self.other, self.depth)


__all__ = ["Beside", "InPlace", "StoredView", "View"]
