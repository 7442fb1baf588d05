"""Blocks: many operands that each store one range of indices are read by tests of the index, except
where all of them are there.

    while i_reached < last:                          # the last end
        if inner <= i_reached and i_reached < outer:
            for i in range(i_reached, outer):        # all are there: no test
                C[i] = A_val[...] + B_val[...] + ...
        else:
            covered = max(A_stop if A_start <= i_reached else i_reached, ...)
            if i_reached < covered:                  # up to there, some are there
                for i in range(i_reached, covered):
                    C[i] = (A_val[...] if A_start <= i < A_stop else 0) + ...
            else:
                i_reached = min(A_start if i_reached < A_start else last, ...)
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from finch_core.interface.looplet import Looplet
from finch_core.interface.run import Part, Run, as_looplet
from finch_core.ir.expressions import TRUE, Expr, Literal
from finch_core.ir.program import Update
from finch_core.looplets.lookup import Lookup, filled
from finch_core.looplets.loop_strides import stride_of
from finch_core.looplets.merge_cost import FEW
from finch_core.looplets.region import Region, is_empty
from finch_core.looplets.select import select
from finch_core.looplets.sequence import Sequence
from finch_core.looplets.short_circuit import may_end_early
from finch_core.looplets.slots import fill_of, fill_slot, slots_of
from finch_core.looplets.switch import Switch
from finch_core.records import evolve, frozen
from finch_core.symbolic.prover import plus_constant, split

if TYPE_CHECKING:
    from collections.abc import Iterable

    from finch_core.interface.context import Context


@frozen(eq=False)
class _Block:
    """An operand that is ``body`` from ``start`` up to ``stop``, and ``fill`` elsewhere."""

    start: Expr
    stop: Expr
    body: Lookup
    fill: Run

    def anywhere(self) -> Lookup:
        """The operand by a test of the index."""

        def at(ctx: Context, index: Expr) -> Part:
            inside = (self.start <= index).and_(index < self.stop)
            found = as_looplet(self.body.at(ctx, index))
            if isinstance(found, Run) and not found.fails and not found.body.ndim:
                return Run(select(inside, found.body, self.fill.body))
            return Switch(inside, found, self.fill)

        return Lookup(at)


def lower_blocks(
    ctx: Context, region: Region, slots: Iterable[int], *, stored: bool = False
) -> bool:
    """Emit a region in which the operands in ``slots`` are blocks beside nothing that moves.

    Gives whether it was emitted: not where there are few, or where the body does something where
    none of them is there. ``stored``: only an update of which each block begins where data says.
    """
    if stored and not isinstance(region.body, Update):
        return False
    blocks = {k: block for k in slots if (block := _block_of(ctx, region, k)) is not None}
    rest = [looplet for k, looplet in region.looplets.items() if k not in blocks]
    if stored and any(isinstance(split(b.start)[0], Literal) for b in blocks.values()):
        return False
    if len(blocks) <= FEW or not all(isinstance(looplet, Lookup) for looplet in rest):
        return False
    if stride_of(ctx, region) is not None or may_end_early(ctx, region):
        return False
    nothing = region.body
    for k, block in blocks.items():
        nothing = fill_slot(ctx, nothing, k, block.fill.body)
    if not is_empty(ctx.simplify(nothing)):
        return False
    _emit(ctx, region, blocks)
    return True


def _block_of(ctx: Context, region: Region, slot: int) -> _Block | None:
    sequence = region.looplets[slot]
    if not isinstance(sequence, Sequence) or len(sequence.phases) != 3:
        return None
    before, main, behind = (as_looplet(phase.body) for phase in sequence.phases)
    start, stop, end = (phase.stop for phase in sequence.phases)
    fill = next(fill_of(s) for s in slots_of(region.body) if s.number == slot)
    if fill is None or before != Run(fill) or behind != before or not isinstance(main, Lookup):
        return None
    if start is None or stop is None or end is not None:
        return None
    return _Block(start, stop, main, Run(fill))


@frozen(eq=False)
class _Cover:
    """A range of indices at each of which a block is there, if ``some`` holds."""

    start: Expr
    stop: Expr
    some: Expr


def _covers(ctx: Context, blocks: Iterable[_Block]) -> list[_Cover]:
    """The ranges that the blocks cover: one for those that are shifted from one to the next by an
    index, like one block read at several shifts."""
    alike: dict[tuple[Expr, Expr, int], dict[int, _Block]] = {}
    for block in blocks:
        (start, begun), (stop, ended) = split(block.start), split(block.stop)
        alike.setdefault((start, stop, ended - begun), {})[begun] = block
    found = []
    for (start, stop, longer), shifted in alike.items():
        some, begin = ctx.prover.decide(start < plus_constant(stop, longer)), None
        for shift in sorted(shifted):
            if shift - 1 not in shifted:
                begin = shifted[shift]
            if shift + 1 not in shifted:
                end = shifted[shift]
                assert begin is not None
                found.append(_Cover(begin.start, end.stop, TRUE if begin is end else some))
    return found


def _emit(ctx: Context, region: Region, blocks: dict[int, _Block]) -> None:
    name = region.index.name
    starts = dict.fromkeys(block.start for block in blocks.values())
    stops = dict.fromkeys(block.stop for block in blocks.values())
    covers = _covers(ctx, blocks.values())
    inner = ctx.let(f"{name}_inner", ctx.prover.maximum(*starts))
    outer = ctx.let(f"{name}_outer", ctx.prover.minimum(*stops))
    last = ctx.let(f"{name}_last", ctx.prover.minimum(region.stop, ctx.prover.maximum(*stops)))
    ctx.prover.know_le(last, region.stop)
    first = ctx.prover.maximum(region.start, ctx.prover.minimum(*starts))
    reached = ctx.var(f"{name}_reached", first)

    def part(stop: Expr, looplets: dict[int, Looplet]) -> None:
        end = ctx.let(f"{name}_stop", stop)
        ctx.prover.know_le(end, last)
        whole = evolve(region.between(reached, end), looplets=region.looplets | looplets)
        filled(ctx, whole).lower(ctx)
        ctx.assign(reached, end)

    def beside() -> None:
        begun = (
            ctx.ifelse(cover.some.and_(cover.start <= reached), cover.stop, reached)
            for cover in covers
        )
        covered = ctx.let(f"{name}_covered", reduce(lambda a, b: a.max(b), begun).min(last))
        before = (reached < inner).and_(inner < outer)
        tested: dict[int, Looplet] = {k: block.anywhere() for k, block in blocks.items()}
        ahead = (ctx.ifelse(reached < cover.start, cover.start, last) for cover in covers)
        ctx.fork(
            reached < covered,
            lambda: part(ctx.ifelse(before, inner.min(covered), covered), tested),
            lambda: ctx.assign(reached, reduce(lambda a, b: a.min(b), ahead, last)),
        )

    plain: dict[int, Looplet] = {k: block.body for k, block in blocks.items()}
    facts = (region.start <= reached, reached < last)
    with ctx.while_(reached < last), ctx.prover.assuming(*facts):
        here = (inner <= reached).and_(reached < outer)
        ctx.fork(here, lambda: part(outer.min(last), plain), beside)


__all__ = ["lower_blocks"]
