"""Bodies of steps that are lowered from the index at which the step starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from finch_core.interface.looplet import Looplet
from finch_core.interface.run import Part
from finch_core.ir.expressions import Expr
from finch_core.looplets.sequence import Sequence
from finch_core.looplets.thunk import Thunk, yielded
from finch_core.records import evolve

if TYPE_CHECKING:
    from finch_core.interface.context import Context


def from_start(ctx: Context, looplet: Looplet, start: Expr) -> Looplet:
    """``looplet`` over a step from its very ``start``: no phase of it ends before that."""
    if isinstance(looplet, Sequence):
        for phase in looplet.phases:
            if phase.stop is not None:
                ctx.prover.know_le(start, phase.stop)
    elif isinstance(looplet, Thunk):
        within = looplet.code

        def code(ctx: Context) -> Iterator[Part]:
            parts = within(ctx)
            yield from_start(ctx, yielded(looplet, parts), start)
            yield from parts

        return evolve(looplet, code=code)
    return looplet


__all__ = ["from_start"]
