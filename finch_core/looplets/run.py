"""Run: the same value, or subtensor, at every index of the region."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.binding import TensorLike
from finch_core.looplets.base import Looplet, Precedence
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.context import Context


@frozen
class Run(Looplet):
    """``body`` at every index. Its rule puts the value in the slot's place and simplifies."""

    body: TensorLike
    precedence: ClassVar[Precedence] = Precedence.RUN

    def lower(self, ctx: Context, region: Any, slot: int) -> None:
        region.fill(ctx, slot, self.body).lower(ctx)

    @property
    def fails(self) -> bool:
        return self.body.is_out_of_bounds


Part = TensorLike | Looplet
"""What a looplet may be made of: a subtensor, or a looplet over the same region."""


def as_looplet(part: Part) -> Looplet:
    """``part`` over a region: a subtensor is the same throughout."""
    return part if isinstance(part, Looplet) else Run(part)
