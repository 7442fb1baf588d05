"""Every: a looplet with one value at every n-th index and another elsewhere; and its mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from finch_core.interface.masks import BooleanTensor
from finch_core.interface.signatures import ImplicitSignature, implicit_signature
from finch_core.interface.tensorlike import Constant, TensorLike
from finch_core.ir.expressions import FALSE, TRUE, Expr, Var, lift
from finch_core.looplets import Looplet, Precedence, Region, Run, Spike, Stepper, Switch
from finch_core.plugins import hookimpl

if TYPE_CHECKING:
    from finch_core.interface.context import Context


@attrs.frozen(eq=False)
class Every(Looplet):
    """``hit`` at index ``first`` and at every ``step``-th index from there, ``rest`` elsewhere.

    Where it leads the loop, it counts from hit to hit. Beside a list the indices of the list are
    tested, by a remainder.
    """

    first: Expr
    step: Expr
    hit: TensorLike
    rest: TensorLike
    precedence: ClassVar[Precedence] = Precedence.PACKED

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        looplet = self.at(region.start) if region.is_point(ctx) else self.hits(ctx, region)
        region.put(slot, looplet).lower(ctx)

    def at(self, index: Expr) -> Looplet:
        """The choice at a single index."""
        distance = index - self.first
        there = (distance >= 0).and_((distance % self.step).eq(0))
        return Switch(there, self.hit, self.rest)

    def hits(self, ctx: Context, region: Region) -> Looplet:
        """A step for each hit in the region."""
        number = ctx.var("hit", self.before(region.start))

        def seek(ctx: Context, index: Expr) -> None:
            ctx.assign(number, self.before(index))

        return Stepper(
            position=number,
            end=ctx.let("hits", self.before(region.stop)),
            stop=lambda k: self.first + k * self.step + 1,
            body=lambda ctx, k: Spike(self.rest, self.hit),
            seek=seek,
            bound=region.stop,
            tail=Run(self.rest),
            start=region.start,
        )

    def before(self, index: Expr) -> Expr:
        """How many hits there are at indices less than ``index``."""
        return ((index - self.first).max(0) + (self.step - 1)) // self.step


@attrs.frozen
class EveryMask(BooleanTensor):
    """The Boolean vector that is true at ``first``, ``first + step``, ``first + 2 * step``, ....

    Both numbers are run-time values: others run the same code. Raises ``ValueError`` unless
    ``step > 0`` and ``first >= 0``.
    """

    step: Any
    first: Any = 0

    name: ClassVar[str] = "EveryMask"
    nscalars: ClassVar[int] = 2

    def __attrs_post_init__(self) -> None:
        numbers = self.step, self.first
        if not any(isinstance(n, Expr) for n in numbers) and (self.step < 1 or self.first < 0):
            raise ValueError(f"{self}: step > 0 and first >= 0 are wanted")

    def __str__(self) -> str:
        shown = (n.name if isinstance(n, Var) else str(n) for n in (self.step, self.first))
        return f"EveryMask({', '.join(shown)})"

    def to_numpy(self, shape: tuple[int]) -> np.ndarray[Any, Any]:
        """The first elements of the mask, as a bool array of the given shape."""
        distance = np.arange(shape[0]) - self.first
        result: np.ndarray[Any, Any] = (distance >= 0) & (distance % self.step == 0)
        return result

    # -- as an argument ---------------------------------------------------------------------

    @property
    def signature(self) -> ImplicitSignature:
        return implicit_signature(EveryMask(1))

    def words(self) -> tuple[Any, ...]:
        return int(self.step), int(self.first)

    def bind(self, scalars: tuple[Var, ...]) -> EveryMask:
        return EveryMask(*scalars)

    # -- in a program -----------------------------------------------------------------------

    def looplet(self) -> Looplet:
        return Every(lift(self.first), lift(self.step), Constant(TRUE), Constant(FALSE))


@hookimpl
def finch_mask() -> type[EveryMask]:
    """Register ``EveryMask``."""
    return EveryMask


__all__ = ["Every", "EveryMask"]
