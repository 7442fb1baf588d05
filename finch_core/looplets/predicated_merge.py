"""Merging many operands without a case for every combination of them.

Of N operands 2^N combinations may meet at an index, and a merge by cases has code for each, and in
each for those of the loops inside. Where that is too many, each operand is read through a test
instead. The loop goes from piece to piece: where a piece of any operand ends, all are asked anew
which piece they are in. The code then grows with N.

    while i_reached < n:
        A_i = A_idx[A_p] + 1 if A_p < A_end else n + 1    # where a piece of A ends
        ...
        i_stop = min(A_i, B_i, ..., n)                    # the region of one piece of each
        C[i_stop - 1] = (A_val[A_p] if A_i == i_stop else 0) + ...
        if A_i == i_stop: A_p += 1
        ...
        i_reached = i_stop
"""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import TYPE_CHECKING

import attrs
import numpy as np

from finch_core.interface.looplet import Looplet
from finch_core.interface.run import Run, as_looplet
from finch_core.interface.tensorlike import Constant, TensorLike
from finch_core.ir.builder import negation
from finch_core.ir.expressions import FALSE, TRUE, Expr, Literal, Var
from finch_core.looplets.lookup import Lookup
from finch_core.looplets.merge_cost import written_slots
from finch_core.looplets.region import Region, is_empty
from finch_core.looplets.select import select
from finch_core.looplets.sequence import Sequence, parts_of
from finch_core.looplets.short_circuit import end_early
from finch_core.looplets.slots import Slot, fill_slot, slots_of
from finch_core.looplets.spike import Spike
from finch_core.looplets.stepper import Stepper
from finch_core.looplets.switch import Switch
from finch_core.looplets.thunk import Thunk, finish, yielded
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context


class _Unmaskable(Exception):
    """What an operand is cannot be told by a test of what it is."""


@frozen
class Piece:
    """What an operand is from where the loop has come to up to ``stop`` (None: as far as what it
    is a part of goes). ``looplet`` is a run, a lookup, or a spike, whose tail is where it stops.

    ``present`` is when it is anything but fill; there it is ``alone``. A spike that is cut off
    before its ``end`` has no tail. An ``open`` piece stops beyond the region where what it is a
    part of is not there.
    """

    stop: Expr | None
    looplet: Looplet
    present: Expr
    alone: Looplet
    end: Expr | None = None
    open: bool = False

    def up_to(self, stop: Expr, open: bool = False) -> Piece:
        """This piece as a part of one that ends at ``stop``."""
        if self.stop is None:
            return attrs.evolve(self, stop=stop, end=stop, open=open)
        return attrs.evolve(self, stop=self.stop.min(stop), open=False)


def lower_masked(ctx: Context, region: Region, slots: Container[int]) -> bool:
    """Emit the region without cases for the operands in ``slots``, if there are tests that tell
    what they are; gives whether it was emitted."""
    cursors = dict(ctx.cursors)
    with ctx.block() as statements, ctx.prover.assuming():
        try:
            _Merge(ctx, region, slots).emit()
        except _Unmaskable:
            ctx.cursors = cursors
            return False
    ctx.extend(statements)
    return True


class _Merge:
    """One region, of whose operands ``slots`` and all that moves are read through tests."""

    def __init__(self, ctx: Context, region: Region, slots: Container[int]) -> None:
        self.ctx, self.region, self.name = ctx, region, region.index.name
        written = written_slots(region)
        self.operands = {
            k: looplet
            for k, looplet in region.looplets.items()
            if k in slots or (isinstance(looplet, Stepper) and k not in written)
        }
        self.fills = {slot.number: _fill_of(slot) for slot in slots_of(region.body)}
        self.fill: Constant | None = None  # of the operand whose piece is made
        self.moves: list[tuple[Expr, Stepper]] = []
        self.hits: dict[Expr, Expr] = {}
        self.steppers: list[Stepper] = []
        self.asked: dict[Expr, Expr] = {}

    def emit(self) -> None:
        ctx, region = self.ctx, self.region
        operands = {
            k: self._begun(looplet, TRUE, region.start) for k, looplet in self.operands.items()
        }
        if region.is_point(ctx) or not any(
            isinstance(part, (Stepper, Sequence)) for part in parts_of(operands.values())
        ):
            self._pieces(operands, region.start)
            return
        name = region.index.name
        reached = ctx.var(f"{name}_reached", region.start)
        with ctx.while_(reached < region.stop), ctx.prover.assuming(region.start <= reached):
            stop = self._pieces(operands, reached)
            for end, steps in self.moves:
                with ctx.if_(self._ends(end, stop)):
                    steps.advance(ctx, stop)
                ctx.cursors[steps.position] = None
            ctx.assign(reached, stop)
            end_early(ctx, region, reached)
        ctx.loop_cursors((*region.looplets.values(), *self.steppers))

    # -- before the loop ----------------------------------------------------------------

    def _begun(self, looplet: Looplet, guard: Expr, at: Expr) -> Looplet:
        """``looplet``, which the loop comes to at ``at`` where ``guard`` holds, with what is to be
        done once before the loop done."""
        ctx = self.ctx
        looplet = self._expanded(looplet, guard)
        if isinstance(looplet, Switch):
            cond = ctx.prover.decide(looplet.cond)
            if not isinstance(cond, Literal):
                cond = self._known("there", guard.and_(cond))
            head = self._begun(as_looplet(looplet.head), cond, at)
            tail = self._begun(as_looplet(looplet.tail), guard.and_(negation(cond)), at)
            return Switch(cond, head, tail)
        if isinstance(looplet, Stepper):
            steps = looplet
            self.steppers.append(steps)
            begun = self.region.between(at, self.region.stop)
            ctx.under(guard, lambda: steps.synchronize(ctx, begun))
        elif isinstance(looplet, Sequence):
            return self._begun_phases(looplet, guard, at)
        return looplet

    def _begun_phases(self, sequence: Sequence, guard: Expr, at: Expr) -> Sequence:
        """The phases of a sequence, each begun where it is not empty."""
        ctx, region = self.ctx, self.region
        phases = []
        for phase in sequence.phases:
            stop = region.stop if phase.stop is None else phase.stop
            body = as_looplet(phase.body)
            if any(isinstance(part, (Stepper, Thunk)) for part in parts_of([body])):
                last = ctx.prover.minimum(stop, region.stop)
                here = ctx.prover.decide(at < last)
                body = self._begun(body, self._known("there", guard.and_(here)), at)
            phases.append(attrs.evolve(phase, body=body))
            at = ctx.prover.maximum(at, stop)
        return Sequence(tuple(phases))

    def _known(self, name: str, cond: Expr) -> Expr:
        """A condition as a variable, the same for the same condition."""
        if isinstance(cond, (Literal, Var)):
            return cond
        if cond not in self.asked:
            self.asked[cond] = self.ctx.let(f"{self.name}_{name}", cond)
        return self.asked[cond]

    def _expanded(self, looplet: Looplet, guard: Expr) -> Looplet:
        """What is in a thunk, after its preamble."""
        ctx = self.ctx
        while isinstance(looplet, Thunk):
            thunk = looplet
            code = thunk.code(ctx)
            body = ctx.under(guard, partial(yielded, thunk, code))
            with ctx.block() as epilogue:
                finish(thunk, code)
            if epilogue:
                raise _Unmaskable
            looplet = body.truncated() if thunk.cut else body
        return looplet

    # -- pieces -------------------------------------------------------------------------

    def _pieces(self, operands: dict[int, Looplet], at: Expr) -> Expr:
        """Emit the region from ``at`` to where the first piece ends, which is the result."""
        ctx, region, name = self.ctx, self.region, self.name
        self.moves, self.hits, self.asked = [], {}, {}
        pieces = {}
        for k, looplet in operands.items():
            self.fill = self.fills[k]
            pieces[k] = self._piece(looplet, at, TRUE, begun=True)
        stops = {
            k: region.stop if piece.stop is None else ctx.let(f"{name}_stop", piece.stop)
            for k, piece in pieces.items()
        }
        stop = region.stop
        if not region.is_point(ctx):
            stop = ctx.bind_stop(name, ctx.prover.minimum(*stops.values(), region.stop))
            ctx.prover.know_le(at + 1, stop)
            ctx.prover.know_le(stop, region.stop)
        for k, piece in pieces.items():
            if isinstance(piece.looplet, Spike):
                pieces[k] = self._ended(piece, self.fills[k], stop)
        self._region(region.between(at, stop), pieces)
        return stop

    def _ends(self, end: Expr, stop: Expr) -> Expr:
        """Whether the region ends where something else does."""
        if end not in self.hits:
            self.hits[end] = self.ctx.let(f"{self.name}_here", end.eq(stop))
        return self.hits[end]

    def _ended(self, piece: Piece, fill: Constant | None, stop: Expr) -> Piece:
        """A spike that has its tail only if the region ends where it does."""
        spike, end = piece.looplet, self.region.stop if piece.end is None else piece.end
        assert isinstance(spike, Spike)
        assert isinstance(spike.body, TensorLike)
        here = self._ends(end, stop)
        last = select(here, self._last(as_looplet(spike.tail), here, stop - 1), spike.body)
        if spike.body != fill:
            whole = Spike(spike.body, last)
            return attrs.evolve(piece, looplet=whole, present=TRUE, alone=whole)
        return attrs.evolve(piece, looplet=Spike(fill, last), present=piece.present.and_(here))

    def _last(self, tail: Looplet, guard: Expr, index: Expr) -> TensorLike:
        """What a spike's tail is, which is at one index."""
        tail = self._expanded(tail, guard)
        if isinstance(tail, Run):
            return tail.body
        if isinstance(tail, Lookup):
            lookup = tail
            found = self.ctx.under(guard, lambda: lookup.at(self.ctx, index))
            return self._last(found, guard, index)
        if isinstance(tail, Switch):
            head = self._last(as_looplet(tail.head), guard.and_(tail.cond), index)
            other = self._last(as_looplet(tail.tail), guard.and_(negation(tail.cond)), index)
            return select(tail.cond, head, other)
        raise _Unmaskable

    def _region(self, region: Region, pieces: dict[int, Piece]) -> None:
        """The region of one piece of each operand, where those that it needs are."""
        ctx = self.ctx
        needed: Expr = TRUE
        nothing = region.body
        for k, piece in pieces.items():
            fill = self.fills[k]
            if fill is None:
                region = region.put(k, piece.looplet)
                continue
            nothing = fill_slot(ctx, nothing, k, fill)
            if is_empty(ctx.simplify(fill_slot(ctx, region.body, k, fill))):
                needed = needed.and_(piece.present)
                region = region.put(k, piece.alone)
            else:
                region = region.put(k, piece.looplet)
        if needed == TRUE and is_empty(ctx.simplify(nothing)):
            needed = FALSE
            for piece in pieces.values():
                needed = needed.or_(piece.present)
        ctx.fork(needed, lambda: region.lower(ctx))

    def _piece(self, looplet: Looplet, at: Expr, guard: Expr, begun: bool) -> Piece:
        """The piece of ``looplet`` that is at ``at``, where ``guard`` holds; ``begun``: its
        positions move along with the loop."""
        looplet = self._expanded(looplet, guard)
        if isinstance(looplet, Run):
            if looplet.fails:
                raise _Unmaskable
            return Piece(None, looplet, self._is_present(looplet.body), looplet)
        if isinstance(looplet, Lookup):
            return Piece(None, looplet, TRUE, looplet)
        if isinstance(looplet, Spike):
            return self._spike(looplet)
        if isinstance(looplet, Switch):
            cond, rest = looplet.cond, negation(looplet.cond)
            head = self._piece(as_looplet(looplet.head), at, guard.and_(cond), begun)
            tail = self._piece(as_looplet(looplet.tail), at, guard.and_(rest), begun)
            return self._either(cond, head, tail)
        if isinstance(looplet, Sequence):
            return self._sequence(looplet, at, guard, begun)
        if isinstance(looplet, Stepper):
            return self._step(looplet, at, guard, begun)
        raise _Unmaskable

    def _is_present(self, tensor: TensorLike) -> Expr:
        return FALSE if tensor == self.fill else TRUE

    def _spike(self, spike: Spike) -> Piece:
        body, tail = as_looplet(spike.body), as_looplet(spike.tail)
        if not isinstance(body, Run):
            raise _Unmaskable
        ends = self._is_present(tail.body) if isinstance(tail, Run) else TRUE
        spike = Spike(body.body, tail)
        return Piece(None, spike, self._is_present(body.body).or_(ends), spike)

    def _sequence(self, looplet: Sequence, at: Expr, guard: Expr, begun: bool) -> Piece:
        """The piece of the phase that ``at`` is in."""
        ctx = self.ctx
        if ctx.checked and looplet.phases[-1].stop is not None:
            raise _Unmaskable
        inside = [ctx.prover.decide(at < p.stop) for p in looplet.phases[:-1]]
        conds = [self._known("within", cond) for cond in inside]
        behind = guard
        pieces = []
        for k, phase in enumerate(looplet.phases):
            here = behind.and_(conds[k]) if k < len(conds) else behind
            piece = self._piece(as_looplet(phase.body), at, here, begun)
            pieces.append(piece if phase.stop is None else piece.up_to(phase.stop))
            if k < len(conds):
                behind = behind.and_(negation(conds[k]))
        result = pieces[-1]
        for cond, piece in zip(reversed(conds), reversed(pieces[:-1]), strict=True):
            result = self._either(cond, piece, result)
        return result

    def _step(self, steps: Stepper, at: Expr, guard: Expr, begun: bool) -> Piece:
        """The piece of the step that ``at`` is in, or of the tail."""
        ctx = self.ctx
        if not begun:
            ctx.under(guard, lambda: steps.seek(ctx, at))
        left = guard
        if steps.end is not None and steps.tail is not None:
            left = guard.and_(steps.position < steps.end)
        if left != TRUE:
            left = ctx.let(f"{steps.label(self.name)}_left", left)
        now = ctx.under(left, lambda: steps.now(ctx))
        beyond = self.region.stop + 1
        end = ctx.ifelse(left, steps.stop(now), beyond)
        end = ctx.let(steps.label(self.name), end)
        body = ctx.under(left, lambda: steps.step(ctx, now))
        piece = self._piece(body, at, left, begun=False).up_to(end, open=True)
        if begun:
            self.moves.append((end, steps))
        if steps.tail is None:
            return piece
        behind = guard.and_(negation(left))
        return self._either(left, piece, self._piece(as_looplet(steps.tail), at, behind, False))

    def _either(self, cond: Expr, head: Piece, tail: Piece) -> Piece:
        """``head`` where ``cond`` holds, ``tail`` elsewhere."""
        if isinstance(cond, Literal):
            return head if cond.value else tail
        if head.open and tail.stop is None and _is_nothing_beside(head.looplet, tail.looplet):
            return head
        stop = self._first(cond, head.stop, tail.stop)
        end = self._first(cond, head.end, tail.end)
        looplet = self._mixed(cond, head.looplet, tail.looplet)
        present = head.present
        if tail.present != present:
            present = cond.and_(head.present).or_(negation(cond).and_(tail.present))
        alone = looplet
        if tail.present == FALSE:
            alone = head.alone
        elif head.present == FALSE:
            alone = tail.alone
        return Piece(stop, looplet, present, alone, end)

    def _first(self, cond: Expr, yes: Expr | None, no: Expr | None) -> Expr | None:
        """One of two ends, where None is the region's."""
        if yes is None and no is None:
            return None
        ends = [self.region.stop if end is None else end for end in (yes, no)]
        return self.ctx.ifelse(cond, *ends)

    def _mixed(self, cond: Expr, head: Looplet, tail: Looplet) -> Looplet:
        if head == tail:
            return head
        if isinstance(head, Run) and isinstance(tail, Run):
            return Run(select(cond, head.body, tail.body))
        if isinstance(head, Lookup) or isinstance(tail, Lookup):
            return self._looked_up(cond, head, tail)
        bodies = [looplet.body for looplet in (head, tail)]  # type: ignore[attr-defined]
        tails = [x.tail if isinstance(x, Spike) else x for x in (head, tail)]
        return Spike(select(cond, *bodies), Switch(cond, *tails))

    def _looked_up(self, cond: Expr, head: Looplet, tail: Looplet) -> Looplet:
        """Either of two at an index, one of which is a lookup."""
        if isinstance(head, Spike) or isinstance(tail, Spike):
            raise _Unmaskable

        def at(ctx: Context, index: Expr) -> Looplet:
            yes = ctx.under(cond, lambda: _at(ctx, head, index))
            no = ctx.under(negation(cond), lambda: _at(ctx, tail, index))
            if any(not isinstance(x, Run) or x.fails for x in (yes, no)):
                return Switch(cond, yes, no)
            return Run(select(cond, yes.body, no.body))  # type: ignore[attr-defined]

        return Lookup(at)


def _is_nothing_beside(spike: Looplet, run: Looplet) -> bool:
    """Whether a spike that does not end is a run."""
    return isinstance(spike, Spike) and isinstance(run, Run) and spike.body == run.body


def _at(ctx: Context, looplet: Looplet, index: Expr) -> Looplet:
    """What a run or a lookup is at an index."""
    return looplet.at(ctx, index) if isinstance(looplet, Lookup) else looplet


def _fill_of(slot: Slot) -> Constant | None:
    """What a slot is where nothing is stored; None if that is no value."""
    if slot.fill_value is None:
        return None
    value = Literal(slot.fill_value, np.dtype(slot.dtype), structural=True)
    return Constant(value, slot.ndim - 1)
