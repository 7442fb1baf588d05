"""A region: a stretch of one loop, its body, and the looplet of each access along it.

Accesses of the loop's index stand in the body as *slots*, and ``looplets`` says what each slot is
there. Splitting a loop changes the table, not the body; the body changes when a slot becomes a
value, and then it is simplified.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs

from finch_core.binding import TensorLike
from finch_core.dtypes import Type
from finch_core.expressions import Access, Expr, Index
from finch_core.looplets.base import Looplet, Precedence
from finch_core.notation import Sequential, Stmt
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.context import Context


@frozen
class Slot(TensorLike):
    """Stands in an access for whatever the table says."""

    number: int
    tensor: TensorLike = attrs.field(eq=False, repr=False)

    @property
    def ndim(self) -> int:
        return self.tensor.ndim

    @property
    def dtype(self) -> Type:
        return self.tensor.dtype

    @property
    def fill_value(self) -> Any:
        return self.tensor.fill_value


@frozen
class Region:
    """``for index in range(start, stop): body``, where ``looplets`` maps slots to looplets."""

    index: Index
    start: Expr
    stop: Expr
    body: Stmt
    looplets: dict[int, Looplet]

    def put(self, slot: int, looplet: Looplet) -> Region:
        """The same region with another looplet in a slot."""
        return attrs.evolve(self, looplets={**self.looplets, slot: looplet})

    def between(self, start: Expr, stop: Expr) -> Region:
        return attrs.evolve(self, start=start, stop=stop)

    def is_point(self, ctx: Context) -> bool:
        """Whether it is known to be one index long."""
        return ctx.prover.equal(self.start + 1, self.stop)

    def lower(self, ctx: Context) -> None:
        """Emit this region: the looplet with the highest precedence first."""
        region = self._used()
        if is_empty(region.body) or ctx.prover.le(region.stop, region.start):
            return
        if not region.looplets:
            from finch_core.looplets.invariant import lower_invariant

            lower_invariant(ctx, region, frozenset())
            return
        slot = max(region.looplets, key=lambda k: (region.looplets[k].precedence, -k))
        if region.looplets[slot].precedence in _VARYING and region._is_at_most_point(ctx):
            point = region.between(region.start, region.start + 1)
            ctx.fork(begins(ctx, region), lambda: point.lower(ctx))
            return
        if region.looplets[slot].precedence in _BRANCHING and ctx.allows("masked"):
            region._merge(ctx, slot)
        else:
            region.looplets[slot].lower(ctx, region, slot)

    def _merge(self, ctx: Context, slot: int) -> None:
        """Emit this region, whose cases ``slot`` would double next: by tests, if they are many."""
        from finch_core.looplets.cases import by_cases, is_too_many, weighed
        from finch_core.looplets.masked import lower_masked

        weights = weighed(ctx, self)
        if slot in weights and is_too_many(ctx, weights) and lower_masked(ctx, self, weights):
            return
        with by_cases(ctx, self, weights):
            self.looplets[slot].lower(ctx, self, slot)

    def _is_at_most_point(self, ctx: Context) -> bool:
        """Whether it is known to be one index long or empty, but not which."""
        if not ctx.allows("points") or self.is_point(ctx):
            return False
        return ctx.prover.le(self.stop, self.start + 1)

    def _used(self) -> Region:
        """Without the slots that the body has lost."""
        used = slots_in(self.body)
        if used.issuperset(self.looplets):
            return self
        kept = {k: looplet for k, looplet in self.looplets.items() if k in used}
        return attrs.evolve(self, looplets=kept)


_VARYING = (Precedence.SEQUENCE, Precedence.JUMPER, Precedence.STEPPER)
"""Looplets that are simpler at a single index than along a loop."""

_BRANCHING = (*_VARYING, Precedence.SWITCH)
"""Looplets of which each doubles the number of cases."""


def begins(ctx: Context, region: Region) -> Expr:
    """The condition that a region is not empty, as short as what is known allows."""
    start, stop = region.start, region.stop
    needed = [end for end in ctx.prover.least_of(stop) if not ctx.prover.lt(start, end)]
    return start < (needed[0] if len(needed) == 1 and ctx.unchanging(needed[0]) else stop)


def is_empty(stmt: Stmt) -> bool:
    """Whether a statement does nothing."""
    return isinstance(stmt, Sequential) and not stmt.statements


def slots_in(stmt: Stmt) -> frozenset[int]:
    """The numbers of the slots that a statement accesses."""
    return frozenset(slot.number for slot in slots_of(stmt))


def slots_of(stmt: Stmt) -> Iterator[Slot]:
    """The slots of a statement, as often as it accesses them."""
    for part in stmt.walk():
        for expr in part.exprs:
            for node in expr.walk():
                if isinstance(node, Access) and isinstance(node.tensor, Slot):
                    yield node.tensor
