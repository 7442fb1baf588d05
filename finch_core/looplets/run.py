"""Run: the same value, or subtensor, at every index of the region."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import attrs

from finch_core.binding import TensorLike
from finch_core.looplets.base import Looplet, Precedence
from finch_core.records import frozen
from finch_core.rewrite import fill_slot

if TYPE_CHECKING:
    from finch_core.context import Context
    from finch_core.looplets.region import Region


@frozen
class Run(Looplet):
    """``body`` at every index. Its rule puts the value in the slot's place and simplifies."""

    body: TensorLike
    precedence: ClassVar[Precedence] = Precedence.RUN

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        rest = {k: looplet for k, looplet in region.looplets.items() if k != slot}
        body = fill_slot(ctx, region.body, slot, self.body)
        attrs.evolve(region, looplets=rest, body=ctx.simplify(body)).lower(ctx)
