"""Merge cost: the number of cases of a merge by cases, and whether that is too many."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from finch_core.interface.looplet import Looplet
from finch_core.interface.run import Run, as_looplet
from finch_core.interface.tensorlike import Constant
from finch_core.ir.expressions import Access, Expr, Literal
from finch_core.ir.program import Update
from finch_core.looplets.jumper import Jumper
from finch_core.looplets.region import Region, is_empty
from finch_core.looplets.sequence import Sequence, parts_of
from finch_core.looplets.slots import AccessSlot, fill_of, fill_slot, slots_of
from finch_core.looplets.spike import Spike
from finch_core.looplets.stepper import Stepper, is_steady
from finch_core.looplets.switch import Switch
from finch_core.looplets.thunk import Thunk
from finch_core.symbolic.prover import split

if TYPE_CHECKING:
    from finch_core.interface.context import Context

CASES = 30
"""The largest number of cases of a merge. N operands of rank r have (r + 1)^N: each is present,
or absent from one of the enclosing loops on."""

FEW = 2
"""This few operands that are sequences are merged by cases, whatever the number of cases."""


def weighed(ctx: Context, region: Region) -> dict[int, int]:
    """The number of cases that each branching operand has, here and in nested loops.

    It is 1 for an operand whose cases coincide with another's or were counted in an enclosing
    loop. A single operand leads its loop and has none.
    """
    read = _read(region)
    if sum(isinstance(found, (Switch, Stepper, Sequence)) for found in read.values()) < 2:
        return {}
    bodies = {k: step_of(ctx, found) for k, found in read.items() if isinstance(found, Stepper)}
    slots = _branching(ctx, read, bodies)
    if len(set(slots.values())) < 2:
        return {}
    found = {slot.number: slot for slot in slots_of(region.body)}
    weights: dict[int, int] = {}
    shared: set[Hashable] = set()
    for k, what in slots.items():
        compound = _is_compound(bodies.get(k, read[k]), k in bodies)
        if _name(found[k]) in ctx.merging:
            weights[k] = 1
        elif what in shared:  # a switch may have cases within the shared one
            weights[k] = found[k].ndim + 1 if isinstance(read[k], Switch) and compound else 1
        else:
            weights[k] = found[k].ndim + 1 + compound
        shared.add(what)
    return weights


def is_led(ctx: Context, region: Region, slot: int) -> bool:
    """Whether one jumper leads a region of which each operand that moves decides: where one of them
    is fill nothing is left, so that there is one case, however many they are."""
    read = _read(region)
    moving = {k for k, found in read.items() if isinstance(found, Stepper | Sequence)}
    if [k for k in moving if isinstance(read[k], Jumper)] != [slot]:
        return False
    fills: dict[int, set[Constant | None]] = {}
    for found in slots_of(region.body):
        if found.number in moving:
            fills.setdefault(found.number, set()).add(fill_of(found))
    for k, values in fills.items():
        fill = values.pop()
        if fill is None or values:
            return False
        if not is_empty(ctx.simplify(fill_slot(ctx, region.body, k, fill))):
            return False
    return True


def is_too_many(ctx: Context, region: Region, weights: dict[int, int]) -> bool:
    """Whether a merge by cases, together with those of enclosing loops, has too many cases.

    Each case contains a copy of what nested loops read in addition, which counts as well.
    """
    several = [weight for weight in (*ctx.merging.values(), *weights.values()) if weight > 1]
    if len(several) <= 1:
        return False
    return math.prod(several) * (1 + _read_inside(region)) > CASES


def _read_inside(region: Region) -> int:
    """The number of tensors that only loops inside a region read."""
    exprs = (expr for part in region.body.walk() for expr in part.exprs)
    nodes = (node for expr in exprs for node in expr.walk() if isinstance(node, Access))
    return len(
        {(n.tensor, n.indices) for n in nodes if n.indices and not isinstance(n.tensor, AccessSlot)}
    )


def disordered(ctx: Context, region: Region) -> frozenset[int]:
    """The operands that are sequences (or one in a case of a switch), if their phases may end in
    too many orders for a region for each.

    N sequences of p phases whose ends differ by constants, like one tensor read at N shifts,
    have (N + p - 1 choose p - 1) orders for each loop that is shifted.
    """
    read = _read(region)
    sequences = {k: s for k in read if (s := _sequence_in(ctx, read[k])) is not None}
    open_ended = all(s.phases[-1].stop is None for s in sequences.values())
    if len(sequences) <= FEW or not open_ended:
        return frozenset()
    unordered = _unordered(ctx, sequences)
    groups: dict[Hashable, set[tuple[Expr | None, ...]]] = {}
    for k, what in unordered.items():
        groups.setdefault(what, set()).add(tuple(phase.stop for phase in sequences[k].phases))
    if all(len(group) == 1 for group in groups.values()):
        return frozenset()
    ranks = {slot.number: slot.tensor.ndim for slot in slots_of(region.body)}
    rank = max(ranks[k] for k in unordered)
    cases = len(unordered) * math.prod(ctx.merging.values())
    for group in groups.values():
        phases = max(map(len, group))
        cases *= math.comb(len(group) + phases - 1, phases - 1) ** rank
    for k in unordered:
        steps = [part for part in parts_of([sequences[k]]) if isinstance(part, Stepper)]
        if any(not is_steady(ctx, step_of(ctx, part)) for part in steps):
            cases *= 2
    return frozenset(unordered) if cases > CASES else frozenset()


def _sequence_in(ctx: Context, looplet: Looplet) -> Sequence | None:
    """The looplet, or one of its cases, if that is a sequence."""
    if isinstance(looplet, Switch):
        found = (_sequence_in(ctx, as_looplet(part)) for part in (looplet.head, looplet.tail))
        return next((part for part in found if part is not None), None)
    if isinstance(looplet, Thunk):
        return _sequence_in(ctx, looplet.body(ctx))
    return looplet if isinstance(looplet, Sequence) else None


@contextmanager
def by_cases(ctx: Context, region: Region, weights: dict[int, int]) -> Iterator[None]:
    """Record, while a region is lowered, the operands for which it has cases."""
    before = ctx.merging
    names = {slot.number: _name(slot) for slot in slots_of(region.body)}
    merging = dict(before)
    for k, weight in weights.items():
        merging[names[k]] = merging.get(names[k], 1) * weight
    ctx.merging = merging
    try:
        yield
    finally:
        ctx.merging = before


def _name(slot: AccessSlot) -> Hashable:
    """The identity of an operand."""
    root = slot.tensor.root
    return slot.number if root is None else root


def _is_compound(looplet: Looplet, step: bool) -> bool:
    """Whether a looplet has cases of its own besides present and absent; ``step``: it is a
    step's body."""
    if step:
        return not isinstance(looplet, Spike)
    if isinstance(looplet, Switch):
        return not all(isinstance(as_looplet(x), Run) for x in (looplet.head, looplet.tail))
    return isinstance(looplet, Sequence) and len(looplet.phases) > 2


def step_of(ctx: Context, steps: Stepper) -> Looplet:
    """The body of a step."""
    return ctx.look(lambda: steps.step(ctx, steps.position))


def _read(region: Region) -> dict[int, Looplet]:
    """The looplets of the operands that are read."""
    written = written_slots(region)
    return {k: found for k, found in region.looplets.items() if k not in written}


def _branching(
    ctx: Context, looplets: dict[int, Looplet], bodies: dict[int, Looplet]
) -> dict[int, Hashable]:
    """The operands that double the number of cases; ``bodies`` are the bodies of steps.

    Operands with the same value branch together: the case of one determines that of the others.
    """
    slots: dict[int, Hashable] = {}
    for k, looplet in looplets.items():
        if isinstance(looplet, Switch):
            if not _is_check(looplet):
                slots[k] = looplet.cond
        elif k in bodies and (isinstance(bodies[k], Sequence) or not is_steady(ctx, bodies[k])):
            slots[k] = k
    sequences = {k: s for k, s in looplets.items() if isinstance(s, Sequence)}
    if len(slots) + len(sequences) > 1:
        slots |= _unordered(ctx, sequences)
    return slots


def _is_check(looplet: Switch) -> bool:
    """Whether one case is out of bounds: that case ends the program."""
    parts = as_looplet(looplet.head), as_looplet(looplet.tail)
    return any(part.fails for part in parts)


def _unordered(ctx: Context, sequences: dict[int, Sequence]) -> dict[int, Hashable]:
    """The sequences whose phases may end before or after those of another, with what their ends
    depend on."""
    stops = {k: [p.stop for p in s.phases if p.stop is not None] for k, s in sequences.items()}
    listed = sorted({stop for ends in stops.values() for stop in ends}, key=repr)

    def known(a: Expr, b: Expr) -> bool:
        return a == b or ctx.prover.le(a, b) or ctx.prover.le(b, a)

    loose = {a for a in listed if any(not known(a, b) for b in listed)}
    return {
        k: frozenset(atom for atom, _ in map(split, ends) if not isinstance(atom, Literal))
        for k, ends in stops.items()
        if loose.intersection(ends)
    }


def written_slots(region: Region) -> set[int]:
    """The slots that are updated, except in place, where they are walked as what is read."""
    targets = (part.target.tensor for part in region.body.walk() if isinstance(part, Update))
    return {slot.number for slot in targets if isinstance(slot, AccessSlot) and slot.view is None}
