"""Where walks end: by the numbers of their steps, which are there before the indices come from
memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING

from finch_core.interface.run import Run
from finch_core.interface.tensorlike import TensorLike
from finch_core.ir.expressions import Expr
from finch_core.ir.program import has_loops, leaves
from finch_core.looplets.region import is_empty
from finch_core.looplets.short_circuit import may_end_early
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.looplets.region import Region
    from finch_core.looplets.stepper import Stepper


@frozen
class Seek:
    """What advances a stepper, and finds where its steps end.

    ``ahead(ctx, i)`` advances ``position`` to the step that contains index ``i``. ``until(ctx, i)``
    looks at the last steps: it gives the number of the first step from ``position`` on that ends
    after index ``i``, if that is one of them, and else ``position``.
    """

    ahead: Callable[[Context, Expr], None]
    until: Callable[[Context, Expr], Expr]

    def __call__(self, ctx: Context, index: Expr) -> None:
        self.ahead(ctx, index)

    def moved(self, inner: Callable[[Expr], Expr]) -> Seek:
        """This search for steps of which index ``i`` was at ``inner(i)``."""
        return Seek(
            lambda ctx, i: self.ahead(ctx, inner(i)), lambda ctx, i: self.until(ctx, inner(i))
        )


def sought_from_behind(ctx: Context, region: Region, steps: Stepper) -> Seek | None:
    """What looks for the last step of the region among the last of all, where that pays off: a loop
    over numbers does not wait for the indices to come from memory. It does not around other loops,
    nor if what is behind the region is walked next."""
    seek = steps.seek
    if not isinstance(seek, Seek) or steps.following is not None or steps.present is not None:
        return None
    if not ctx.allows("until") or leaves(region.body) or may_end_early(ctx, region):
        return None
    if has_loops(region.body):
        return None
    if isinstance(steps.walked, tuple) and steps.walked[0] in ctx.behind(region.index):
        return None
    return seek


def ends_all(ctx: Context, region: Region, slot: int, steps: Stepper) -> bool:
    """Whether a loop does nothing behind the last of ``steps``, which are in ``slot``."""
    tail = steps.tail.body if isinstance(steps.tail, Run) else steps.tail
    return isinstance(tail, TensorLike) and is_empty(region.fill(ctx, slot, tail).body)


def none_has_run_out(ctx: Context, region: Region, steps: Iterable[Stepper]) -> Expr | None:
    """That each of ``steps`` has a step left, where this is to say that the region goes on: it ends
    as soon as one of them does. None if that is not known.

    Positions are there at once; what has been reached comes from memory.
    """
    if not any(stepper.ends for stepper in steps):
        return None  # what is left of the other lists is walked next, from what was reached
    more = []
    for stepper in steps:
        if stepper.tail is not None or not stepper.whole or stepper.end is None:
            return None
        if stepper.following is not None or stepper.present is not None:
            return None
        more.append(stepper.position < stepper.end)
    least = ctx.prover.minimum(*(stepper.bound for stepper in steps))
    if not (ctx.allows("run_outs") and ctx.prover.le(least, region.stop)):
        return None
    return reduce(lambda first, other: first.and_(other), more)


__all__ = ["Seek", "ends_all", "none_has_run_out", "sought_from_behind"]
