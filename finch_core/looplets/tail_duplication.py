"""Tail duplication: whether each case of an operand at a single index gets code of its own.

    d = U[i, i]                    if stored: d = U_val[q]; ...all that follows
    ...all that follows    ->      else:      ...all that follows, with d = 0

That pays where little is left of the case in which nothing is stored. Where much is left, the
operand is read under a predicate instead, ``d = U_val[q] if stored else 0``: with a copy of what
follows for each look-up, the code would double with each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.ir.program import Define, Loop, Stmt, Update, While
from finch_core.looplets.merge_cost import written_slots
from finch_core.looplets.region import Region
from finch_core.looplets.slots import fill_of, fill_slot, slots_of

if TYPE_CHECKING:
    from finch_core.interface.context import Context

LITTLE = 2
"""The largest number of updates that are duplicated."""


def duplicates_much(ctx: Context, region: Region, slot: int) -> bool:
    """Whether cases of the operand in ``slot``, in a region of one index, would repeat much code:
    what its body is where the operand has its fill value."""
    if not region.is_point(ctx) or slot in written_slots(region) or is_little(region.body):
        return False
    fills = {fill_of(found) for found in slots_of(region.body) if found.number == slot}
    fill = fills.pop()
    if fill is None or fills:
        return False
    return not is_little(ctx.simplify(fill_slot(ctx, region.body, slot, fill)))


def is_little(stmt: Stmt) -> bool:
    """Whether a statement is no more than some updates."""
    updates = 0
    for part in stmt.walk():
        if isinstance(part, (Loop, While, Define)):
            return False
        updates += isinstance(part, Update)
    return updates <= LITTLE
