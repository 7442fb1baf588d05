"""Merging many steppers without a case for every combination of them.

Of N operands 2^N combinations may meet at an index, and a merge by cases has code for each. Beyond
a few operands each is read through a test instead: its value where its step ends here, its fill
elsewhere. The code then grows with N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.binding import Constant, TensorLike
from finch_core.expressions import TRUE, Expr
from finch_core.looplets.region import Region, is_empty
from finch_core.looplets.run import Run
from finch_core.looplets.short_circuit import end_early
from finch_core.looplets.spike import Spike
from finch_core.rewrite import fill_slot

if TYPE_CHECKING:
    from finch_core.context import Context
    from finch_core.looplets.stepper import Stepper

CASES = 4
"""The most operands that are merged by cases."""


def can_mask(ctx: Context, steps: Stepper) -> bool:
    """Whether each step is a fill and one scalar, and what follows the last is that fill."""
    with ctx.block():
        body = steps.step(ctx, steps.position)
    if not isinstance(body, Spike) or not isinstance(body.tail, TensorLike) or body.tail.ndim:
        return False
    return isinstance(body.body, Constant) and steps.tail == Run(body.body)


def merge_masked(ctx: Context, region: Region, steppers: dict[int, Stepper]) -> None:
    """A loop over the ends of all steps, whichever comes first; then what no step reaches."""
    name = region.index.name
    for steps in steppers.values():
        steps.synchronize(ctx, region)
    reached = ctx.var(f"{name}_reached", region.start)
    with ctx.while_(reached < region.stop), ctx.prover.assuming(region.start <= reached):
        stops = {k: _stop(ctx, region, steps) for k, steps in steppers.items()}
        stop = ctx.bind_stop(name, ctx.prover.minimum(*stops.values()))
        with ctx.if_(stop > region.stop):
            ctx.break_()
        ctx.prover.know_le(reached + 1, stop)
        ctx.prover.know_le(stop, region.stop)
        hits = {
            k: ctx.let(f"{steps.label(name)}_here", stops[k].eq(stop))
            for k, steps in steppers.items()
        }
        _at_step(ctx, region.between(reached, stop), steppers, hits)
        ctx.assign(reached, stop)
        for k, steps in steppers.items():
            with ctx.if_(hits[k]):
                steps.advance(ctx, reached)
            ctx.cursors[steps.position] = reached
        early = end_early(ctx, region, reached, {s.position: s.position for s in steppers.values()})
    rest = region.between(reached, region.stop)
    for k, steps in steppers.items():
        ctx.cursors[steps.position] = None if early else region.stop
        rest = rest.put(k, _fill(ctx, steps))
    rest.lower(ctx)


def _stop(ctx: Context, region: Region, steps: Stepper) -> Expr:
    """Where a stepper's step ends; behind the region where it has none left."""
    end = ctx.ifelse(steps.position < steps.end, steps.stop(steps.position), region.stop + 1)
    return ctx.let(f"{steps.label(region.index.name)}_stop", end)


def _at_step(
    ctx: Context, region: Region, steppers: dict[int, Stepper], hits: dict[int, Expr]
) -> None:
    """The region up to the next end of a step, where all operands that it needs are."""
    needed: Expr = TRUE
    for k, steps in steppers.items():
        fill = _fill(ctx, steps)
        without = ctx.simplify(fill_slot(ctx, region.body, k, fill.body))
        if is_empty(without):
            needed = needed.and_(hits[k])
            region = region.put(k, steps.step(ctx, steps.position))
        else:
            region = region.put(k, _masked(ctx, steps, hits[k]))
    ctx.fork(needed, lambda: region.lower(ctx))


def _fill(ctx: Context, steps: Stepper) -> Run:
    """What a stepper is beside the ends of its steps."""
    fill = steps.step(ctx, steps.position).truncated()
    assert isinstance(fill, Run)
    return fill


def _masked(ctx: Context, steps: Stepper, hit: Expr) -> Spike:
    """A step that is its value at its end if that is here, and fill otherwise."""
    body = steps.step(ctx, steps.position)
    assert isinstance(body, Spike)
    assert isinstance(body.body, Constant)
    assert isinstance(body.tail, TensorLike)
    value = ctx.ifelse(hit, body.tail.read(ctx), body.body.value)
    return Spike(body.body, Constant(value))
