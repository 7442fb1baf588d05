"""A vector that a loop fills, by increasing or by decreasing indices: its last element is in a
variable.

for i in range(0, n):                                for i in range(0, n):
    for j in range(0, i): t -= L[i, j] * x[j]            ... x[j] up to i - 1, then x_last
    x[i] = t                                  ->         x_last = t
                                                         x[i] = x_last
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.interface.around import Around
from finch_core.interface.level import Format, Mode
from finch_core.interface.run import Run
from finch_core.interface.tensorlike import BoundTensor, Constant, TensorLike
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Expr, Literal
from finch_core.ir.program import Extent
from finch_core.looplets.lookup import Lookup
from finch_core.looplets.sequence import Phase, Sequence
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.looplet import Looplet


@frozen
class Carried(Around):
    """The vector ``inner`` in turn ``i``, its first index, of a loop whose last turn has stored
    ``last`` at ``i - 1``; the second index is that of the vector."""

    inner: TensorLike
    last: BoundTensor

    def __str__(self) -> str:
        return str(self.inner)

    @property
    def ndim(self) -> int:
        return 2

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return (None, *self.inner.dims)

    def level_of(self, dim: int) -> Format | None:
        return None if dim == 0 else self.inner.level_of(dim - 1)

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        return Lookup(lambda ctx, i: _Turn(self.inner, self.last, i))


@frozen
class _Turn(Around):
    """The vector ``inner``, of which ``last`` holds the element before ``index``."""

    inner: TensorLike
    last: BoundTensor
    index: Expr

    @property
    def ndim(self) -> int:
        return 1

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return self.inner.dims

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        stored = self.inner.unfurl(ctx, mode, protocol)
        phases = (Phase(self.index - 1, stored), Phase(self.index, Run(self.last.fiber)))
        return Sequence((*phases, Phase(None, stored)))


@frozen
class CarriedDown(Carried):
    """The vector ``inner`` in turn ``i`` of a loop by decreasing indices, whose last turn has
    stored ``last`` at ``i + 1``, if that is before ``stop``: either this element, with zeros
    elsewhere, or (``others``) all but this."""

    stop: Expr
    others: bool

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        return Lookup(lambda ctx, i: _TurnDown(self.inner, self.last, i, self.stop, self.others))


@frozen
class _TurnDown(_Turn):
    """The vector ``inner``, of which ``last`` holds the element after ``index``."""

    stop: Expr
    others: bool

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        zero = Run(Constant(Literal(0, concrete(self.dtype), structural=True)))
        here, elsewhere = Run(self.last.fiber), zero
        if self.others:
            here, elsewhere = zero, self.inner.unfurl(ctx, mode, protocol)  # type: ignore[assignment]
        end = ctx.prover.minimum(self.index + 2, self.stop)
        phases = (Phase(self.index + 1, elsewhere), Phase(end, here), Phase(None, elsewhere))
        return Sequence(phases)


__all__ = ["Carried", "CarriedDown"]
