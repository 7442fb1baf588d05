"""Lookup: random access, a function of the index."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from finch_core.interface.looplet import Looplet, Precedence
from finch_core.interface.run import Part, Run, made
from finch_core.ir.expressions import TRUE, Expr
from finch_core.ir.program import Update
from finch_core.ir.rewrite import substitute_index
from finch_core.looplets.covering import owned
from finch_core.looplets.invariant_tests import lower_tested
from finch_core.looplets.loop_strides import LoopStride, stride_of, strided
from finch_core.looplets.region import begins
from finch_core.looplets.short_circuit import end_early, may_end_early
from finch_core.records import evolve, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.looplets.region import Region


@frozen
class Lookup(Looplet):
    """``body(ctx, i)`` is the element at index ``i``. It is lowered last, to a counted loop.

    Of an output that is appended to, ``over(ctx, start, stop)`` may be the looplet for a range that
    is not empty and of which each index is written: room for all of them is made at once, and the
    loop has no test.
    """

    body: Callable[[Context, Expr], Part]
    over: Callable[[Context, Expr, Expr], Part] | None = None
    precedence: ClassVar[Precedence] = Precedence.LOOKUP

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        each_index(ctx, region)

    def at(self, ctx: Context, index: Expr) -> Looplet:
        """The run at a single index."""
        return made(self.body, ctx, index)


def each_index(ctx: Context, region: Region) -> None:
    """Emit the region one index at a time: the paper's rules *Lookup* and *Loop*."""
    start, stop, name = region.start, region.stop, region.index.name
    steps = stride_of(ctx, region)
    if steps is not None:
        _each_visited(ctx, region, steps)
    elif region.is_point(ctx):
        at_index(ctx, region, ctx.let(name, start))
    elif ctx.prover.le(stop, start + 1):
        ctx.fork(begins(ctx, region), lambda: at_index(ctx, region, ctx.let(name, start)))
    elif (whole := filled(ctx, region)) is not region and _writes_all(ctx, region):
        ctx.fork(begins(ctx, region), lambda: whole.lower(ctx))
    elif not lower_tested(ctx, region):
        loose = region.index in ctx.loose
        with (
            ctx.for_(name, start, stop, loose=loose) as i,
            ctx.prover.assuming(start <= i, i < stop),
        ):
            at_index(ctx, region, i)
            end_early(ctx, region, i + 1)


def filled(ctx: Context, region: Region) -> Region:
    """A region that writes each of its indices, of which there is one at least, with what is
    written taking the whole range if it can."""
    body = region.body
    slot = getattr(body.target.tensor, "number", -1) if isinstance(body, Update) else -1
    target = region.looplets.get(slot)
    if not isinstance(target, Lookup) or target.over is None or may_end_early(ctx, region):
        return region
    return region.put(slot, made(target.over, ctx, region.start, region.stop))


def _writes_all(ctx: Context, region: Region) -> bool:
    """Whether a region writes each of its indices: nothing that it reads may be fill at some."""
    others = [found for found in region.looplets.values() if getattr(found, "over", None) is None]
    if not all(isinstance(looplet, Lookup) for looplet in others):
        return False
    there = (ctx.look(lambda x=x: x.at(ctx, region.start)) for x in others)  # type: ignore[misc]
    return all(isinstance(found, Run) for found in there)


def _each_visited(ctx: Context, region: Region, steps: LoopStride) -> None:
    """``each_index`` for a strided loop."""
    start, stop, name = region.start, region.stop, region.index.name

    def visit(index: Expr) -> None:
        with strided(ctx, region.index, None):
            at_index(ctx, region, index)

    if ctx.prover.le(stop, start + 1):
        index = ctx.let(name, start)
        inside = TRUE if region.is_point(ctx) else begins(ctx, region)
        ctx.fork(inside.and_(steps.visits(index)), lambda: visit(index))
        return
    first, count = steps.within(ctx, region)
    with ctx.for_(f"{name}_turn", 0, count, loose=region.index in ctx.loose) as turn:
        index = ctx.let(name, first + turn * steps.step)
        with ctx.prover.assuming(start <= index, index < stop):
            visit(index)
            end_early(ctx, region, index + 1)


def at_index(ctx: Context, region: Region, index: Expr) -> None:
    """Emit the region at a single index."""
    body = ctx.simplify(substitute_index(region.body, region.index, index))
    looplets = {}
    for k, looplet in region.looplets.items():
        with owned(region, k):
            looplets[k] = looplet.at(ctx, index)  # type: ignore[attr-defined]
    evolve(region, start=index, stop=index + 1, body=body, looplets=looplets).lower(ctx)
