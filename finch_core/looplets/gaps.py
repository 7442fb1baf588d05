"""Gaps between steps, in reductions that need a value once: whether there is one is counted.

    for q in range(p, p_stop):                    for q in range(p, p_stop):
        i = idx[q]                                    m = max(m, val[q])
        if i_reached < i: m = max(m, 0)     ->    if p_stop - p < n:
        m = max(m, val[q])                            m = max(m, 0)
        i_reached = i + 1
    if i_reached < n: m = max(m, 0)

The indices need not be read, and the loop can be in lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.interface.run import Run, as_looplet
from finch_core.interface.tensorlike import TensorLike
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Expr
from finch_core.ir.program import Stmt, Update
from finch_core.looplets.invariant import repetition
from finch_core.looplets.short_circuit import may_end_early
from finch_core.looplets.spike import Spike
from finch_core.symbolic.updates import is_closed

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.looplets.region import Region
    from finch_core.looplets.stepper import Stepper


def made_once(ctx: Context, region: Region, slot: int, steps: Stepper) -> Stmt | None:
    """What a loop over all of ``steps`` does between them and behind the last one, if that is the
    same however often and whenever it is done; else None."""
    tail, body = steps.tail, region.body
    if not isinstance(tail, Run) or steps.present is not None or not isinstance(body, Update):
        return None
    op = body.op
    if op is None or not (op.idempotent and op.commutative and op.associative):
        return None
    if ctx.strict and concrete(body.target.dtype).kind in "fc":
        return None
    if not ctx.allows("gaps") or not isinstance(tail.body, TensorLike):
        return None
    if not ctx.prover.equal(region.start, steps.start) or may_end_early(ctx, region):
        return None
    filled = region.fill(ctx, slot, tail.body)
    found = repetition(ctx, filled, region.stop - region.start)
    if not isinstance(found, Update) or found.op is not op or found.target != body.target:
        return None
    dtype = concrete(body.target.dtype)  # what is cast when it is stored may not be the last
    closed = is_closed(op, dtype, body.value) and is_closed(op, dtype, found.value)
    return found if closed else None


def step_without_gap(
    ctx: Context, region: Region, slot: int, steps: Stepper, position: Expr
) -> bool:
    """Emit the last index of a step, if all before it in the step is as behind the last step; else
    emit nothing, and give False."""
    body = steps.step(ctx, position)
    assert steps.tail is not None
    if not isinstance(body, Spike) or as_looplet(body.body) != as_looplet(steps.tail):
        return False
    stop = steps.stop_of(ctx, region.index.name, position)
    with ctx.prover.assuming(region.start < stop, stop <= region.stop):
        steps.note(ctx, region.body, position, stop)
        region.between(stop - 1, stop).put(slot, as_looplet(body.tail)).lower(ctx)
    return True


__all__ = ["made_once", "step_without_gap"]
