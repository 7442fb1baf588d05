"""Predicated merges: many operands are merged without a case for every combination of them.

At an index, 2^N combinations of N operands may be present. A merge by cases has code for each,
and in each for those of nested loops. Where that is too much code, each operand is read under a
predicate instead. The loop advances from piece to piece: where a piece of any operand ends, the
present piece of every operand is determined anew. The size of the code is linear in N.

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

from collections.abc import Container, Mapping
from functools import partial
from typing import TYPE_CHECKING

from finch_core.interface.looplet import Looplet
from finch_core.interface.run import Run, as_looplet
from finch_core.interface.tensorlike import Constant, TensorLike
from finch_core.ir.builder import negation
from finch_core.ir.expressions import FALSE, TRUE, Expr, Literal
from finch_core.ir.program import has_loops
from finch_core.looplets.lookup import Lookup
from finch_core.looplets.merge_cost import written_slots
from finch_core.looplets.pieces import Conditions, Piece, either
from finch_core.looplets.region import Region, is_empty
from finch_core.looplets.select import select
from finch_core.looplets.sequence import Sequence, parts_of
from finch_core.looplets.short_circuit import end_early
from finch_core.looplets.slots import fill_of, fill_slot, slots_of
from finch_core.looplets.spike import Spike
from finch_core.looplets.stepper import Stepper
from finch_core.looplets.switch import Switch
from finch_core.looplets.thunk import Thunk, finish, yielded
from finch_core.records import evolve, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context


def lower_predicated(ctx: Context, region: Region, slots: Container[int]) -> bool:
    """Emit the region with predicates instead of cases for the operands in ``slots``.

    Gives whether it was emitted: nothing is, if an operand cannot be expressed as a predicated
    read.
    """
    cursors = dict(ctx.cursors)
    with ctx.block() as statements, ctx.prover.assuming():
        emitted = _merge(ctx, region, slots).emit()
    if not emitted:
        ctx.cursors = cursors
        return False
    ctx.extend(statements)
    return True


def _merge(ctx: Context, region: Region, slots: Container[int]) -> _Merge:
    """The merge of the operands in ``slots`` and of all operands with positions that advance."""
    written = written_slots(region)
    operands = {
        k: looplet
        for k, looplet in region.looplets.items()
        if k in slots or (isinstance(looplet, Stepper) and k not in written)
    }
    fills = {slot.number: fill_of(slot) for slot in slots_of(region.body)}
    return _Merge(ctx, region, operands, fills)


@frozen
class _ReadPoint:
    """The point at which one operand is read.

    It has the current index, the operand's fill, and the conditions that are variables there.
    """

    at: Expr
    fill: Constant | None
    conditions: Conditions

    def is_present(self, tensor: TensorLike) -> Expr:
        """Whether ``tensor`` is not fill."""
        return FALSE if tensor == self.fill else TRUE


@frozen
class _Iteration:
    """One emitted iteration: where it stops, and the steppers to advance at its end."""

    stop: Expr
    moves: tuple[tuple[Expr, Stepper], ...]
    conditions: Conditions


@frozen(eq=False)
class _Merge:
    """One region, and its ``operands`` that are read under predicates.

    A method that gives None (or ``emit`` False) met an operand that cannot be expressed as a
    predicated read; what was emitted is then dropped.
    """

    ctx: Context
    region: Region
    operands: Mapping[int, Looplet]
    fills: Mapping[int, Constant | None]

    @property
    def name(self) -> str:
        return self.region.index.name

    def emit(self) -> bool:
        """Emit the region; gives whether every operand could be expressed as a predicated read."""
        ctx, region = self.ctx, self.region
        conditions = Conditions(ctx, self.name)
        operands = {}
        for k, looplet in self.operands.items():
            begun = self._begun(looplet, TRUE, region.start, conditions)
            if begun is None:
                return False
            operands[k] = begun
        parts = list(parts_of(operands.values()))
        if region.is_point(ctx) or not any(isinstance(p, (Stepper, Sequence)) for p in parts):
            return self._iteration(operands, region.start) is not None
        reached = ctx.var(f"{self.name}_reached", region.start)
        with ctx.while_(reached < region.stop), ctx.prover.assuming(region.start <= reached):
            iteration = self._iteration(operands, reached, self._goes_one_by_one())
            if iteration is None:
                return False
            self._move(iteration)
            ctx.assign(reached, iteration.stop)
            end_early(ctx, region, reached)
        steppers = [part for part in parts if isinstance(part, Stepper)]
        ctx.loop_cursors((*region.looplets.values(), *steppers))
        return True

    def _move(self, iteration: _Iteration) -> None:
        """Advance the steppers whose step ends where the iteration does."""
        ctx = self.ctx
        for end, steps in iteration.moves:
            with ctx.if_(iteration.conditions.variable("here", end.eq(iteration.stop))):
                steps.advance(ctx, iteration.stop)
            ctx.cursors[steps.position] = None

    # -- before the loop ----------------------------------------------------------------

    def _begun(
        self, given: Looplet, guard: Expr, at: Expr, conditions: Conditions
    ) -> Looplet | None:
        """``given`` after the code that runs once before the loop.

        The loop reaches it at index ``at`` if ``guard`` holds. None if it is not a predicated
        read.
        """
        ctx = self.ctx
        looplet = self._expanded(given, guard)
        if isinstance(looplet, Switch):
            cond = ctx.prover.decide(looplet.cond)
            if not isinstance(cond, Literal):
                cond = conditions.variable("there", guard.and_(cond))
            rest = guard.and_(negation(cond))
            head = self._begun(as_looplet(looplet.head), cond, at, conditions)
            tail = self._begun(as_looplet(looplet.tail), rest, at, conditions)
            return None if head is None or tail is None else Switch(cond, head, tail)
        if isinstance(looplet, Stepper):
            begun = self.region.between(at, self.region.stop)
            ctx.under(guard, partial(looplet.synchronize, ctx, begun))
        elif isinstance(looplet, Sequence):
            return self._begun_phases(looplet, guard, at, conditions)
        return looplet

    def _begun_phases(
        self, sequence: Sequence, guard: Expr, at: Expr, conditions: Conditions
    ) -> Sequence | None:
        """The phases of a sequence, each after its code before the loop if it is not empty."""
        ctx, region = self.ctx, self.region
        phases = []
        for phase in sequence.phases:
            stop = region.stop if phase.stop is None else phase.stop
            body: Looplet | None = as_looplet(phase.body)
            assert body is not None
            if any(isinstance(part, (Stepper, Thunk)) for part in parts_of([body])):
                last = ctx.prover.minimum(stop, region.stop)
                here = conditions.variable("there", guard.and_(ctx.prover.decide(at < last)))
                body = self._begun(body, here, at, conditions)
                if body is None:
                    return None
            phases.append(evolve(phase, body=body))
            at = ctx.prover.maximum(at, stop)
        return Sequence(tuple(phases))

    def _expanded(self, looplet: Looplet, guard: Expr) -> Looplet | None:
        """The body of a thunk, after its preamble; None if it has an epilogue."""
        ctx = self.ctx
        while isinstance(looplet, Thunk):
            thunk = looplet
            code = thunk.code(ctx)
            body = ctx.under(guard, partial(yielded, thunk, code))
            with ctx.block() as epilogue:
                finish(thunk, code)
            if epilogue:
                return None
            looplet = body.truncated() if thunk.cut else body
        return looplet

    # -- one iteration ------------------------------------------------------------------

    def _iteration(
        self, operands: Mapping[int, Looplet], at: Expr, alone: bool = False
    ) -> _Iteration | None:
        """Emit the region from ``at`` to the first end of a piece; ``at`` alone, if so."""
        ctx, region, name = self.ctx, self.region, self.name
        conditions = Conditions(ctx, name)
        pieces = {}
        for k, looplet in operands.items():
            place = _ReadPoint(at, self.fills[k], conditions)
            piece = self._piece(looplet, place, TRUE, begun=True)
            if piece is None:
                return None
            pieces[k] = piece
        stops = [
            region.stop if piece.stop is None else ctx.let(f"{name}_stop", piece.stop)
            for piece in pieces.values()
        ]
        stop = region.stop
        if alone:
            stop = at + 1
        elif not region.is_point(ctx):
            stop = ctx.bind_stop(name, ctx.prover.minimum(*stops, region.stop))
            ctx.prover.know_le(at + 1, stop)
            ctx.prover.know_le(stop, region.stop)
        for k, piece in pieces.items():
            if isinstance(piece.looplet, Spike):
                ended = self._ended(piece, self.fills[k], stop, conditions)
                if ended is None:
                    return None
                pieces[k] = ended
        self._region(region.between(at, stop), pieces)
        moves = [move for piece in pieces.values() for move in piece.moves]
        return _Iteration(stop, tuple(moves), conditions)

    def _goes_one_by_one(self) -> bool:
        """Whether an iteration is one index, so that the loops inside have no copy for the indices
        before the last: in a kernel that must be short, where these loops run at each index."""
        ctx, body = self.ctx, self.region.body
        if ctx.allows("merge_by_cases") or not has_loops(body):
            return False
        for k in self.operands:
            fill = self.fills[k]
            if fill is not None:
                body = fill_slot(ctx, body, k, fill)
        return has_loops(ctx.simplify(body))

    def _ended(
        self, piece: Piece, fill: Constant | None, stop: Expr, conditions: Conditions
    ) -> Piece | None:
        """A spike that has its tail only if the region ends where the spike does."""
        spike, end = piece.looplet, self.region.stop if piece.end is None else piece.end
        assert isinstance(spike, Spike)
        assert isinstance(spike.body, TensorLike)
        here = conditions.variable("here", end.eq(stop))
        tail = self._last(as_looplet(spike.tail), here, stop - 1)
        if tail is None:
            return None
        last = select(here, tail, spike.body)
        if spike.body != fill:
            whole = Spike(spike.body, last)
            return evolve(piece, looplet=whole, present=TRUE, alone=whole)
        return evolve(piece, looplet=Spike(fill, last), present=piece.present.and_(here))

    def _last(self, given: Looplet, guard: Expr, index: Expr) -> TensorLike | None:
        """The tail of a spike, which is at a single index."""
        tail = self._expanded(given, guard)
        if isinstance(tail, Run):
            return tail.body
        if isinstance(tail, Lookup):
            found = self.ctx.under(guard, partial(tail.at, self.ctx, index))
            return self._last(found, guard, index)
        if isinstance(tail, Switch):
            head = self._last(as_looplet(tail.head), guard.and_(tail.cond), index)
            other = self._last(as_looplet(tail.tail), guard.and_(negation(tail.cond)), index)
            return None if head is None or other is None else select(tail.cond, head, other)
        return None

    def _region(self, region: Region, pieces: Mapping[int, Piece]) -> None:
        """Emit the region of one piece of each operand, under the predicates of those that it
        needs."""
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

    # -- pieces -------------------------------------------------------------------------

    def _piece(self, given: Looplet, place: _ReadPoint, guard: Expr, begun: bool) -> Piece | None:
        """The piece of ``given`` at ``place``, if ``guard`` holds.

        ``begun``: its positions advance with the loop.
        """
        looplet = self._expanded(given, guard)
        if isinstance(looplet, Run):  # one that fails does so where its value is needed
            present = place.is_present(looplet.body)
            return Piece(None, looplet, present, looplet)
        if isinstance(looplet, Lookup):
            return Piece(None, looplet, TRUE, looplet)
        if isinstance(looplet, Spike):
            return _spike(looplet, place)
        if isinstance(looplet, Switch):
            cond, rest = looplet.cond, negation(looplet.cond)
            head = self._piece(as_looplet(looplet.head), place, guard.and_(cond), begun)
            tail = self._piece(as_looplet(looplet.tail), place, guard.and_(rest), begun)
            return self._either(cond, head, tail)
        if isinstance(looplet, Sequence):
            return self._sequence(looplet, place, guard, begun)
        if isinstance(looplet, Stepper):
            return self._step(looplet, place, guard, begun)
        return None

    def _either(self, cond: Expr, head: Piece | None, tail: Piece | None) -> Piece | None:
        if head is None or tail is None:
            return None
        return either(self.ctx, cond, head, tail, self.region.stop)

    def _sequence(
        self, looplet: Sequence, place: _ReadPoint, guard: Expr, begun: bool
    ) -> Piece | None:
        """The piece of the phase that contains ``place``."""
        ctx = self.ctx
        if looplet.phases[-1].stop is not None:
            return None
        inside = [ctx.prover.decide(place.at < p.stop) for p in looplet.phases[:-1]]
        conds = [place.conditions.variable("within", cond) for cond in inside]
        behind = guard
        pieces = []
        for k, phase in enumerate(looplet.phases):
            here = behind.and_(conds[k]) if k < len(conds) else behind
            piece = self._piece(as_looplet(phase.body), place, here, begun)
            if piece is None:
                return None
            pieces.append(piece if phase.stop is None else piece.up_to(phase.stop))
            if k < len(conds):
                behind = behind.and_(negation(conds[k]))
        result: Piece | None = pieces[-1]
        for cond, piece in zip(reversed(conds), reversed(pieces[:-1]), strict=True):
            result = self._either(cond, piece, result)
        return result

    def _step(self, steps: Stepper, place: _ReadPoint, guard: Expr, begun: bool) -> Piece | None:
        """The piece of the step that contains ``place``, or of the tail."""
        ctx = self.ctx
        if not begun:
            ctx.under(guard, lambda: steps.find(ctx, place.at))
        left = guard
        if steps.end is not None and steps.tail is not None:
            left = guard.and_(steps.position < steps.end)
        if left != TRUE:
            left = ctx.let(f"{steps.label(self.name)}_left", left)
        now = ctx.under(left, lambda: steps.now(ctx))
        end = ctx.ifelse(left, steps.stop(now), self.region.stop + 1)
        end = ctx.let(steps.label(self.name), end)
        body = ctx.under(left, lambda: steps.step(ctx, now))
        piece = self._piece(body, place, left, begun=False)
        if piece is None:
            return None
        piece = piece.up_to(end, open=True)
        if begun:
            piece = evolve(piece, moves=((end, steps),))
        if steps.tail is None:
            return piece
        behind = guard.and_(negation(left))
        return self._either(
            left, piece, self._piece(as_looplet(steps.tail), place, behind, begun=False)
        )


def _spike(spike: Spike, place: _ReadPoint) -> Piece | None:
    """The piece of a spike whose body is a run."""
    body, tail = as_looplet(spike.body), as_looplet(spike.tail)
    if not isinstance(body, Run):
        return None
    ends = place.is_present(tail.body) if isinstance(tail, Run) else TRUE
    spike = Spike(body.body, tail)
    return Piece(None, spike, place.is_present(body.body).or_(ends), spike)
