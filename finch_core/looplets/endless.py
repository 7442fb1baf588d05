"""Padding: looplets extended beyond their first and last index with a fill value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.interface.looplet import Looplet
from finch_core.interface.run import Run, as_looplet
from finch_core.interface.tensorlike import TensorLike
from finch_core.looplets.sequence import Sequence
from finch_core.looplets.spike import Spike
from finch_core.looplets.stepper import Stepper
from finch_core.looplets.switch import Switch
from finch_core.looplets.thunk import Thunk
from finch_core.records import evolve

if TYPE_CHECKING:
    from finch_core.interface.context import Context


def endless(ctx: Context, looplet: Looplet, fill: TensorLike) -> Looplet | None:
    """``looplet`` with ``fill`` before its start and after its end.

    None if that takes additional phases, since the looplet is something else there.
    """
    if isinstance(looplet, Stepper):
        if looplet.tail is None or as_looplet(looplet.tail) != Run(fill):
            return None
        steps = looplet
        first = ctx.look(lambda: steps.step(ctx, steps.position))
        return evolve(steps, early=True) if _begins(ctx, first, fill) else None
    if isinstance(looplet, Sequence):
        last = as_looplet(looplet.phases[-1].body)
        return looplet if last == Run(fill) and _begins(ctx, looplet, fill) else None
    return looplet if looplet == Run(fill) else None


def _begins(ctx: Context, looplet: Looplet, fill: TensorLike) -> bool:
    """Whether a looplet begins with ``fill``, up to an index that does not depend on where it
    begins."""
    if isinstance(looplet, Thunk):
        return _begins(ctx, looplet.body(ctx), fill)
    if isinstance(looplet, Switch):
        return all(_begins(ctx, as_looplet(x), fill) for x in (looplet.head, looplet.tail))
    if isinstance(looplet, Sequence):
        return as_looplet(looplet.phases[0].body) == Run(fill)
    return isinstance(looplet, Spike) and as_looplet(looplet.body) == Run(fill)


__all__ = ["endless"]
