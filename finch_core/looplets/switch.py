"""Switch: one of two looplets, by a condition that is invariant in the region."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.interface.looplet import Looplet, Precedence
from finch_core.interface.run import Part, as_looplet
from finch_core.ir.expected import condition
from finch_core.ir.expressions import Expr
from finch_core.records import field, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.looplets.region import Region


def _condition(value: Any) -> Expr:
    return condition(value, "the condition of a Switch")


@frozen
class Switch(Looplet):
    """``head`` where ``cond`` holds, else ``tail``; both cases are lowered under an ``if``."""

    cond: Expr = field(converter=_condition)
    head: Part
    tail: Part
    precedence: ClassVar[Precedence] = Precedence.SWITCH

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        ctx.fork(
            self.cond,
            lambda: region.put(slot, as_looplet(self.head)).lower(ctx),
            lambda: region.put(slot, as_looplet(self.tail)).lower(ctx),
        )

    def truncated(self) -> Looplet:
        parts = as_looplet(self.head), as_looplet(self.tail)
        cut = tuple(part.truncated() for part in parts)
        return self if cut == parts else Switch(self.cond, *cut)
