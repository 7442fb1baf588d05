"""Spike: a run followed by one other value at the region's last index."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from finch_core.interface.looplet import Looplet, Precedence
from finch_core.interface.run import Part, as_looplet
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.looplets.region import Region


@frozen
class Spike(Looplet):
    """``body`` up to the region's last index, and ``tail`` there. The region is not empty."""

    body: Part
    tail: Part
    precedence: ClassVar[Precedence] = Precedence.SPIKE

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        """Split off the last index, for all spikes of the region at once."""
        before = after = region
        for k, looplet in region.looplets.items():
            if isinstance(looplet, Spike):
                before = before.put(k, as_looplet(looplet.body))
                after = after.put(k, as_looplet(looplet.tail))
        last = region.stop - 1
        before.between(region.start, last).lower(ctx)
        after.between(last, region.stop).lower(ctx)

    def truncated(self) -> Looplet:
        return as_looplet(self.body)
