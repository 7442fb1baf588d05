"""Lowering of regions: the looplet with the highest precedence is lowered first (paper, Figure
"Looplet evaluation semantics")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.interface.looplet import Precedence
from finch_core.interface.watch import watched
from finch_core.ir.program import has_loops
from finch_core.looplets.blocks import lower_blocks
from finch_core.looplets.calls import lower_looplet
from finch_core.looplets.grouped_merge import lower_grouped
from finch_core.looplets.invariant import lower_invariant
from finch_core.looplets.merge_cost import (
    by_cases,
    disordered,
    is_led,
    is_too_many,
    weighed,
    written_slots,
)
from finch_core.looplets.predicated_merge import lower_predicated
from finch_core.looplets.region import Region, begins, is_empty
from finch_core.looplets.slots import slots_in
from finch_core.looplets.stepper import Stepper
from finch_core.looplets.stretches import lower_stretches
from finch_core.looplets.tail_duplication import duplicates_much
from finch_core.records import evolve

if TYPE_CHECKING:
    from finch_core.interface.context import Context

_VARYING = (Precedence.SEQUENCE, Precedence.JUMPER, Precedence.STEPPER)
"""Looplets that are simpler at a single index than along a loop."""

_BRANCHING = (*_VARYING, Precedence.SWITCH)
"""Looplets each of which doubles the number of cases."""


def lower_region(ctx: Context, region: Region) -> None:
    """Emit a region: the looplet with the highest precedence first."""
    _lower_region(ctx, _used(region))


@watched("region")
def _lower_region(ctx: Context, region: Region) -> None:
    if is_empty(region.body) or ctx.prover.le(region.stop, region.start):
        return
    if not region.looplets:
        lower_invariant(ctx, region, frozenset())
        return
    slot = first_slot(region)
    if region.looplets[slot].precedence in _VARYING and _is_at_most_point(ctx, region):
        point = region.between(region.start, region.start + 1)
        walks = [x for x in region.looplets.values() if isinstance(x, Stepper)]

        def at_point() -> None:
            point.lower(ctx)
            for walk in walks:
                walk.has_come_to(ctx, region.stop)

        ctx.fork(begins(ctx, region), at_point)
        for walk in walks:
            if walk.has_come_to(ctx, region.stop):
                walk.arrive(ctx, region)
        return
    if region.looplets[slot].precedence in _BRANCHING and ctx.allows("predicated_merge"):
        _merge(ctx, region, slot)
    else:
        lower_looplet(ctx, region.looplets[slot], region, slot)


def first_slot(region: Region) -> int:
    """The slot of the looplet that is lowered first: of the highest precedence, the first."""
    return max(region.looplets, key=lambda k: (region.looplets[k].precedence, -k))


def _merge(ctx: Context, region: Region, slot: int) -> None:
    """Emit a region in which ``slot`` is next to double the cases: predicated, if they are too
    many."""
    if duplicates_much(ctx, region, slot) and lower_predicated(ctx, region, {slot}):
        return
    if type(region.looplets[slot]) is Stepper and lower_grouped(ctx, region):
        return
    if not ctx.allows("merge_by_cases") and _lower_once(ctx, region, slot):
        return
    many = disordered(ctx, region)
    if slot in many:
        if region.looplets[slot].precedence is Precedence.SEQUENCE and not region.is_point(ctx):
            if not lower_blocks(ctx, region, many, stored=True):
                lower_stretches(ctx, region, many)
            return
        if lower_predicated(ctx, region, many):
            return
    weights = {} if is_led(ctx, region, slot) else weighed(ctx, region)
    if slot in weights and is_too_many(ctx, region, weights):
        if not region.is_point(ctx) and lower_blocks(ctx, region, weights):
            return
        if lower_predicated(ctx, region, weights):
            return
    with by_cases(ctx, region, weights if slot in weights else {}):
        lower_looplet(ctx, region.looplets[slot], region, slot)


def _lower_once(ctx: Context, region: Region, slot: int) -> bool:
    """Emit a region with predicates for whatever branches in it, so that the loops inside are not
    repeated for its cases; gives whether it was emitted. Where one operand branches in an innermost
    loop, its cases are few and short."""
    written = written_slots(region)
    branching = {
        k
        for k, looplet in region.looplets.items()
        if k not in written and looplet.precedence in _BRANCHING
    }
    if slot not in branching or (len(branching) < 2 and not has_loops(region.body)):
        return False
    return lower_predicated(ctx, region, branching)


def _is_at_most_point(ctx: Context, region: Region) -> bool:
    """Whether a region has at most one index, but it is not known whether it is empty."""
    if not ctx.allows("points") or region.is_point(ctx):
        return False
    return ctx.prover.le(region.stop, region.start + 1)


def _used(region: Region) -> Region:
    """``region`` without the slots that no longer occur in its body."""
    used = slots_in(region.body)
    if used.issuperset(region.looplets):
        return region
    kept = {k: looplet for k, looplet in region.looplets.items() if k in used}
    return evolve(region, looplets=kept)
