"""A region: a range of one loop, its body, and the looplet of each access along it.

The body has a *slot* for each access of the loop's index, and ``looplets`` maps slots to
looplets. Splitting a loop changes the map, not the body; the body changes when a slot is
replaced by a value, and is then simplified.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from finch_core.errors import Span
from finch_core.interface.looplet import Looplet
from finch_core.interface.tensorlike import TensorLike
from finch_core.ir.expressions import Expr, Index
from finch_core.ir.program import Sequential, Stmt
from finch_core.looplets.slots import fill_slots
from finch_core.records import evolve, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context


@frozen
class Region:
    """``for index in range(start, stop): body``, where ``looplets`` maps slots to looplets."""

    index: Index
    start: Expr
    stop: Expr
    body: Stmt
    looplets: dict[int, Looplet]

    def put(self, slot: int, looplet: Looplet) -> Region:
        """The region with another looplet in a slot."""
        return evolve(self, looplets={**self.looplets, slot: looplet})

    def between(self, start: Expr, stop: Expr) -> Region:
        return evolve(self, start=start, stop=stop)

    def is_point(self, ctx: Context) -> bool:
        """Whether the region is known to have exactly one index."""
        return ctx.prover.equal(self.start + 1, self.stop)

    def fill(self, ctx: Context, slot: int, tensor: TensorLike) -> Region:
        """The region with a slot replaced by ``tensor``, simplified."""
        return self.filled(ctx, {slot: tensor})

    def filled(self, ctx: Context, tensors: Mapping[int, TensorLike]) -> Region:
        """The region with slots replaced by tensors, simplified once."""
        rest = {k: looplet for k, looplet in self.looplets.items() if k not in tensors}
        body = ctx.simplify(fill_slots(ctx, self.body, tensors))
        return evolve(self, looplets=rest, body=body)

    def lower(self, ctx: Context) -> None:
        """Emit this region (see ``looplets.evaluation``)."""
        ctx.lower_region(self)


@frozen(eq=False)
class OfRegion(Stmt):
    """A region where a statement is lowered."""

    region: Region
    span: Span | None = None


def begins(ctx: Context, region: Region) -> Expr:
    """The condition that a region is not empty, without the parts that are known to hold."""
    start, stop = region.start, region.stop
    needed = [end for end in ctx.prover.least_of(stop) if not ctx.prover.lt(start, end)]
    return start < (needed[0] if len(needed) == 1 and ctx.unchanging(needed[0]) else stop)


def is_empty(stmt: Stmt) -> bool:
    """Whether a statement has no effect."""
    return isinstance(stmt, Sequential) and not stmt.statements
