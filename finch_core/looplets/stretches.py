"""Merging of many sequences without a region for every order in which their phases may end.

A tensor read at N shifts with padding is N sequences whose ends are not ordered: about N ** 2
regions in a loop, N ** 4 in two nested ones. Here a loop goes from one phase end to the next.
Where every sequence is in its main phase (the interior), specialised code runs; elsewhere each
sequence is read through predicates on the current index. That makes two regions, however many
sequences there are.

    while i_reached < n:
        if 1 <= i_reached and i_reached < m - 1:
            for i in range(i_reached, min(m - 1, n)):  # A[i - 1], A[i], A[i + 1] are all there
                ...
            i_reached = ...
        else:
            i_stop = min(1 if i_reached < 1 else n, m - 1 if i_reached < m - 1 else n, ...)
            ...
            i_reached = i_stop
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.interface.looplet import Looplet
from finch_core.interface.run import Run, as_looplet
from finch_core.interface.tensorlike import Constant
from finch_core.ir.expressions import FALSE, TRUE, Expr, Literal
from finch_core.looplets.predicated_merge import lower_predicated
from finch_core.looplets.region import Region
from finch_core.looplets.sequence import Phase, Sequence, parts_of
from finch_core.looplets.short_circuit import end_early
from finch_core.looplets.switch import Switch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from finch_core.interface.context import Context


def lower_stretches(ctx: Context, region: Region, slots: Iterable[int]) -> None:
    """Emit the region, in which the operands in ``slots`` are sequences."""
    sequences: dict[int, Sequence] = {k: region.looplets[k] for k in slots}  # type: ignore[misc]
    name = region.index.name
    reached = ctx.var(f"{name}_reached", region.start)
    moving = list(parts_of(region.looplets.values()))
    ctx.loop_cursors(moving)
    facts = (region.start <= reached, reached < region.stop)
    with ctx.while_(reached < region.stop), ctx.prover.assuming(*facts):
        here, main = _main_phases(ctx, sequences, reached)
        if main:
            ctx.fork(
                here,
                lambda: _within(ctx, region, main, reached),
                lambda: _across(ctx, region, sequences, reached),
            )
        else:
            _across(ctx, region, sequences, reached)
        ctx.loop_cursors(moving)
        end_early(ctx, region, reached)
    ctx.loop_cursors(moving)


def _main_phases(
    ctx: Context, sequences: dict[int, Sequence], at: Expr
) -> tuple[Expr, dict[int, Phase]]:
    """The main phase of each sequence that has one, and the condition that ``at`` is in all of
    them."""
    begins, ends, main = [], [], {}
    for k, sequence in sequences.items():
        phases = sequence.phases
        varying = [n for n, phase in enumerate(phases) if not _is_constant(phase)]
        if len(varying) == 1:
            n = varying[0]
            main[k] = phases[n]
            begins += [phase.stop for phase in phases[:n] if phase.stop is not None]
            ends += [stop for stop in [phases[n].stop] if stop is not None]
    here: Expr = TRUE
    if begins:
        here = here.and_(ctx.prover.maximum(*dict.fromkeys(begins)) <= at)
    if ends:
        here = here.and_(at < ctx.prover.minimum(*dict.fromkeys(ends)))
    return here, main


def _is_constant(phase: Phase) -> bool:
    body = as_looplet(phase.body)
    return isinstance(body, Run) and isinstance(body.body, Constant)


def _within(ctx: Context, region: Region, main: dict[int, Phase], reached: Expr) -> None:
    """The range from ``reached`` on in which the operands in ``main`` are in their main phases."""
    ends = [phase.stop for phase in main.values() if phase.stop is not None]
    stop = ctx.prover.minimum(*dict.fromkeys(ends), region.stop)
    stop = ctx.bind(f"{region.index.name}_stop", stop)
    part = region.between(reached, stop)
    for k, phase in main.items():
        part = part.put(k, _body(phase, stop))
    _emit(ctx, part, reached)


def _across(ctx: Context, region: Region, sequences: dict[int, Sequence], reached: Expr) -> None:
    """The range from ``reached`` up to the first end of any phase, whichever phases are active."""
    name = region.index.name
    before: dict[Expr, Expr] = {}
    for sequence in sequences.values():
        for phase in sequence.phases[:-1]:
            assert phase.stop is not None
            if phase.stop not in before:
                cond = ctx.prover.decide(reached < phase.stop)
                known = isinstance(cond, Literal)
                before[phase.stop] = cond if known else ctx.let(f"{name}_before", cond)
    stop = region.stop
    for end, cond in before.items():
        if cond != FALSE and not ctx.prover.le(region.stop, end):
            stop = stop.min(ctx.ifelse(cond, end, region.stop))
    stop = ctx.bind(f"{name}_stop", stop)
    ctx.prover.know_le(reached + 1, stop)
    ctx.prover.know_le(stop, region.stop)
    part = region.between(reached, stop)
    for k, sequence in sequences.items():
        *first, last = sequence.phases
        looplet = as_looplet(last.body)
        for phase in reversed(first):
            assert phase.stop is not None
            looplet = _either(before[phase.stop], _body(phase, stop), looplet)
        part = part.put(k, looplet)
    _emit(ctx, part, reached)


def _either(cond: Expr, yes: Looplet, no: Looplet) -> Looplet:
    if isinstance(cond, Literal):
        return yes if cond.value else no
    return Switch(cond, yes, no)


def _body(phase: Phase, stop: Expr) -> Looplet:
    """The body of a phase in a range up to ``stop``, which may be before the phase ends."""
    body = as_looplet(phase.body)
    cut = body.truncated()
    if phase.stop is None or cut == body:
        return body
    return Switch(phase.stop.eq(stop), body, cut)


def _emit(ctx: Context, part: Region, reached: Expr) -> None:
    """Emit one such range, and set ``reached`` to its end."""
    switched = [k for k, looplet in part.looplets.items() if isinstance(looplet, Switch)]
    if not switched or not lower_predicated(ctx, part, switched):
        part.lower(ctx)
    ctx.assign(reached, part.stop)  # type: ignore[arg-type]
