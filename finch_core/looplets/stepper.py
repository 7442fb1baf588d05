"""Stepper: an unbounded number of similar looplets in succession."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, ClassVar

from finch_core.interface.looplet import Looplet, Precedence
from finch_core.interface.run import Part, Run, as_looplet, made, nothing
from finch_core.ir.builder import negation
from finch_core.ir.dtypes import INTP
from finch_core.ir.expected import condition, integer, variable
from finch_core.ir.expressions import TRUE, Expr, Var
from finch_core.ir.program import Loop, Stmt, leaves
from finch_core.looplets.covering import require_covered
from finch_core.looplets.gaps import made_once, step_without_gap
from finch_core.looplets.sequence import Phase, Sequence
from finch_core.looplets.short_circuit import end_early
from finch_core.looplets.step_starts import from_start
from finch_core.looplets.switch import Switch
from finch_core.looplets.thunk import Thunk
from finch_core.looplets.walk_ends import ends_all, none_has_run_out, sought_from_behind
from finch_core.records import evolve, frozen
from finch_core.symbolic.prover import balanced, split

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.looplets.region import Region


NEAR = 4
"""The distance of indices up to which steps are passed one by one, without a search."""


@frozen
class Stepper(Looplet):
    """Steps numbered by the mutable variable ``position``, up to the number ``end``.

    ``stop(q)`` is the index at which step ``q`` ends (its *stride*), ``body(ctx, q)`` its
    looplet up to there; a step starts where the previous one ends. ``seek(ctx, i)`` advances
    ``position`` to the step that contains index ``i``; a ``Seek`` also finds where steps end.
    ``tail`` is the looplet after the last step (None: the loop ends with the last step). If ``end``
    is None, there is always another step, and no tail.

    ``start`` is the index for which ``position`` was set, ``bound`` an index at which all steps
    have ended. ``following`` emits the advance to the next step if that is not ``position +=
    1``, and ``last`` gives the end of the last step if that is not ``stop(end - 1)``.

    ``present(q, i)`` tells whether step ``q`` is there, ``i`` being the index reached; others are
    passed over (None: all are there).

    ``whole``: the steps are known to reach the end of the loop. ``early``: the first step
    begins before ``start``, where the loop begins. ``anchored``: bodies compute their own end
    again; body and stop then use one immutable ``q``, so that the prover sees that they agree.
    ``walked`` tells what is stepped through: steppers with the same one, if it is not None, have
    the same steps, so that one may begin where another has been; ``fiber`` is the same wherever the
    steps are shifted to. ``ends``: the loop does nothing behind the last step.
    """

    position: Var
    end: Expr | None
    stop: Callable[[Expr], Expr]
    body: Callable[[Context, Expr], Part]
    seek: Callable[[Context, Expr], None]
    bound: Expr
    tail: Part | None
    start: Expr
    following: Callable[[Context], None] | None = None
    last: Callable[[Context], Expr] | None = None
    anchored: bool = False
    present: Callable[[Expr, Expr], Expr] | None = None
    whole: bool = False
    early: bool = False
    walked: Hashable = None
    fiber: Hashable = None
    ends: bool = False
    precedence: ClassVar[Precedence] = Precedence.STEPPER

    def __attrs_post_init__(self) -> None:
        for name in ("bound", "start") if self.end is None else ("bound", "start", "end"):
            value = integer(getattr(self, name), f"the {name} of a Stepper")
            object.__setattr__(self, name, value)
        variable(self.position, "the position of a Stepper")
        integer(self.stop(self.position), "the stop of a step")
        if self.present is not None:
            condition(self.present(self.position, self.start), "whether a step is present")

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        slots = [k for k, looplet in region.looplets.items() if isinstance(looplet, Stepper)]
        counted = len(slots) == 1 and not region.is_point(ctx) and self.is_counted(ctx, region)
        begun = ctx.cursors.get(self.position) is not None
        self.synchronize(ctx, region, counted)
        if region.is_point(ctx):
            region.put(slot, self._at_point(ctx, region, begun)).lower(ctx)
        elif len(slots) == 1:
            lower_lone(ctx, region, slot, self)
        elif not split_tails(ctx, region, slots):
            merge(ctx, region, slots)

    # -- state --------------------------------------------------------------------------

    def is_counted(self, ctx: Context, region: Region) -> bool:
        """Whether a loop over the numbers of the steps visits all steps of the region."""
        return self.following is None and ctx.prover.le(self.bound, region.stop)

    def synchronize(self, ctx: Context, region: Region, counted: bool = False) -> None:
        """Set ``position`` to the step that contains the region's first index, if there is one.

        ``counted``: what comes next is a loop over the numbers of all steps, present or not.
        """
        begun = self.position in ctx.cursors
        at = ctx.cursors.get(self.position, self.start)
        with ctx.prover.assuming(region.start < region.stop):
            there = at is not None and ctx.prover.equal(at, region.start)
            if self.early and at == self.start:
                there = there or ctx.prover.le(region.start, at)
        if not there:
            at = self._begin_where_another_was(ctx, region.start, at)
            self._advance_to(ctx, region.start, at)
            self._begin(ctx, region)
        elif not begun and not counted:
            self.pass_over(ctx, region.start)
        ctx.cursors[self.position] = region.start

    def _begin(self, ctx: Context, region: Region) -> None:
        """Record where the walk begins, for what is looked up around it later."""
        numbered = self.walked is not None and self.following is None and self.present is None
        if numbered and not region.is_point(ctx) and ctx.unchanging(region.start):
            begun = ctx.let(f"{self.position.name}_at", self.position)
            ctx.arrive(self.walked, region.start, begun)

    def find(self, ctx: Context, index: Expr) -> None:
        """Advance to the step that contains ``index``."""
        nothing(self.seek, ctx, index)
        self.pass_over(ctx, index)

    def pass_over(self, ctx: Context, index: Expr) -> None:
        """Advance past the steps that are not there, where ``index`` has been reached."""
        if self.present is None:
            return
        more = TRUE if self.end is None else self.position < self.end
        with ctx.while_(more.and_(negation(self.present(self.position, index)))):
            self._next(ctx)

    def _next(self, ctx: Context) -> None:
        if self.following is None:
            ctx.assign(self.position, self.position + 1)
        else:
            nothing(self.following, ctx)

    def _begin_where_another_was(self, ctx: Context, index: Expr, at: Expr | None) -> Expr | None:
        """Set ``position`` to that of another walk that was at ``index`` or before, if there is one
        and this walk has not begun. Gives the index for which ``position`` is set."""
        if at is None or at != self.start or self.position in ctx.cursors:
            return at
        for reached, position in reversed(ctx.arrivals.get(self.walked, ())):
            if ctx.prover.le(reached, index):
                ctx.assign(self.position, position)
                return reached
        return at

    def _advance_to(self, ctx: Context, index: Expr, at: Expr | None) -> None:
        """Emit the advance from ``at`` (None: unknown) to the step that contains ``index``."""
        if at is None or self.following is not None or self.end is None or self.present is not None:
            self.find(ctx, index)
        elif ctx.prover.equal(at, index):
            return
        elif ctx.prover.le(index, at + NEAR):
            behind = (self.position < self.end).and_(balanced(self.stop(self.position) <= index))
            once = ctx.prover.le(index, at + 1)
            with ctx.if_(behind) if once else ctx.while_(behind):
                ctx.assign(self.position, self.position + 1)
        else:
            self.find(ctx, index)

    def has_come_to(self, ctx: Context, index: Expr) -> bool:
        """Whether ``position`` is known to be at ``index``; its cursor then says so."""
        at = ctx.cursors.get(self.position)
        if at is None or not ctx.prover.equal(at, index):
            return False
        ctx.cursors[self.position] = index
        return True

    def arrive(self, ctx: Context, region: Region) -> None:
        """Record that ``position`` is at the first step that ends after the region."""
        ctx.cursors[self.position] = region.stop
        ends = (region.start, region.stop)
        if not all(map(ctx.unchanging, ends)):
            return
        index = ctx.cursors[self.position] = ctx.prover.maximum(*ends)
        if self.walked is not None and not leaves(region.body):
            ctx.arrive(self.walked, index, ctx.let(f"{self.position.name}_at", self.position))

    def note(self, ctx: Context, body: Stmt, position: Expr, stop: Expr) -> None:
        """Record, for walks inside the ``body`` of the step at ``position``, that this one and the
        next are at its last index and at its end."""
        if self.walked is None or self.following is not None or self.present is not None:
            return
        if any(isinstance(part, Loop) for part in body.walk()):
            now = ctx.let(f"{self.position.name}_at", position)
            ctx.arrive(self.walked, stop - 1, now, now + 1)

    def label(self, name: str) -> str:
        """A name for the end of a step along the index ``name``."""
        return f"{self.position.name.rpartition('_')[0]}_{name}"

    def advance(self, ctx: Context, index: Expr) -> None:
        """Advance to the next step, which starts at ``index``."""
        self._next(ctx)
        self.pass_over(ctx, index)
        ctx.cursors[self.position] = index

    def stop_of(self, ctx: Context, name: str, position: Expr) -> Expr:
        """The end of step ``position``, in a variable named after the index."""
        atom, offset = split(self.stop(position))
        stop = ctx.let(name if offset == 1 else f"{name}_stop", atom, INTP)
        if stop is not atom and (position != self.position or ctx.is_constant(position)):
            ctx.prover.define(stop, atom)
        return stop + offset

    def now(self, ctx: Context) -> Expr:
        """The current value of ``position``, in an immutable variable."""
        if not self.anchored:
            return self.position
        return ctx.let(f"{self.position.name}_now", self.position)

    def step(self, ctx: Context, position: Expr) -> Looplet:
        return made(self.body, ctx, position)

    def _next_body(self, ctx: Context) -> Looplet:
        """The body of the step at ``position``, to be chosen by a test whether there is one: code
        that it emits is kept with it, and so runs behind the test."""

        def code(ctx: Context) -> Iterator[Part]:
            yield self.step(ctx, self.position)

        with ctx.forgetting(), ctx.block() as emitted, ctx.prover.assuming():
            body = self.step(ctx, self.position)
        return Thunk(code) if emitted else body

    # -- rules --------------------------------------------------------------------------

    def _at_point(self, ctx: Context, region: Region, begun: bool) -> Looplet:
        """In a region of one index, the step either ends with it or goes beyond. A walk that is
        known to have ``begun`` may go on, and advances."""
        body = self._next_body(ctx)
        cut = body.truncated()
        inside = self.stop(self.position).eq(region.stop)
        if self.tail is None:
            return body if cut == body else Switch(inside, body, cut)
        left, tail = self.position < self.end, as_looplet(self.tail)
        if cut == body:
            return Switch(left, body, tail)
        if cut == tail:
            if begun and self.present is None:
                body, tail = self._gone(body, region, True), self._gone(tail, region, False)
            return Switch(left.and_(inside), body, tail)
        return Switch(left, Switch(inside, body, cut), tail)

    def _gone(self, looplet: Looplet, region: Region, advance: bool) -> Looplet:
        """``looplet``, after which ``position`` is at the end of the region."""

        def code(ctx: Context) -> Iterator[Part]:
            yield looplet
            if advance:
                self.advance(ctx, region.stop)
            ctx.cursors[self.position] = region.stop

        return Thunk(code)

    def rest(self, ctx: Context) -> Looplet:
        """The part in which no further step ends: the beginning of the next step, or the tail."""
        cut = self._next_body(ctx).truncated()
        if self.tail is None:
            return cut
        tail = as_looplet(self.tail)
        return tail if cut == tail else Switch(self.position < self.end, cut, tail)


def lower_lone(ctx: Context, region: Region, slot: int, steps: Stepper) -> None:
    """A single stepper leads the loop: a loop over its steps, then the rest."""
    reached = ctx.var(f"{region.index.name}_reached", region.start)
    covered = ctx.prover.le(steps.bound, region.stop)
    ctx.loop_cursors(region.looplets.values())
    if steps.is_counted(ctx, region):
        once = made_once(ctx, region, slot, steps)
        with ctx.for_("q", steps.position, steps.end) as q:
            if once is not None and step_without_gap(ctx, region, slot, steps, q):
                early = False
            else:
                once = None
                _step_present(ctx, region, slot, steps, q, reached)
                early = end_early(ctx, region, reached, {steps.position: q + 1})
        if once is not None:
            ctx.loop_cursors(region.looplets.values())
            gap = steps.end - steps.position < region.stop - region.start
            ctx.fork(gap, lambda: ctx.lower(ctx.simplify(once)))
            ctx.cursors[steps.position] = region.stop
            return
    else:
        seek = sought_from_behind(ctx, region, steps)
        unless_found: AbstractContextManager[None] = nullcontext()
        if seek is not None:
            begun = ctx.let(f"{steps.position.name}_begun", steps.position)
            end = ctx.let(f"{steps.position.name}_until", seek.until(ctx, region.stop))
            with ctx.for_("q", begun, end) as q:
                _step(ctx, region, slot, steps, q, reached)
            ctx.assign(steps.position, end)
            unless_found = ctx.if_(begun.eq(end))  # then it may be none of the last ones
        more = TRUE if steps.end is None else steps.position < steps.end
        if not covered:
            more = more.and_(balanced(steps.stop(steps.position) <= region.stop))
        with unless_found, ctx.while_(more):
            _step(ctx, region, slot, steps, steps.now(ctx), reached)
            with ctx.unless_left(needed=False):
                steps.advance(ctx, reached)
            early = end_early(ctx, region, reached, {steps.position: steps.position})
    ctx.loop_cursors(region.looplets.values())
    ctx.cursors[steps.position] = None if early else region.stop
    if covered and steps.tail is None:
        _require_end(ctx, region, slot, steps, reached)
        return
    ctx.cursors[steps.position] = reached
    rest = as_looplet(steps.tail) if covered and steps.tail is not None else steps.rest(ctx)
    remaining = region.between(reached, region.stop).put(slot, rest)
    with ctx.prover.assuming(region.start <= reached):
        if isinstance(rest, Run):
            remaining.lower(ctx)
        else:  # its code may read the next step, which need not exist
            ctx.fork(reached < region.stop, lambda: remaining.lower(ctx))
    if early:
        ctx.cursors[steps.position] = None
    elif covered:
        ctx.cursors[steps.position] = region.stop
    else:
        steps.arrive(ctx, region)


def _require_end(ctx: Context, region: Region, slot: int, steps: Stepper, reached: Expr) -> None:
    """Check that steps without a tail reach the end of the loop."""
    if steps.end is not None and not steps.whole:
        require_covered(ctx, region, slot, reached)


def _step_present(
    ctx: Context, region: Region, slot: int, steps: Stepper, position: Expr, reached: Var
) -> None:
    """One whole step of a single stepper, if it is there."""
    if steps.present is None:
        _step(ctx, region, slot, steps, position, reached)
    else:
        with ctx.if_(balanced(steps.present(position, reached))):
            _step(ctx, region, slot, steps, position, reached)


def _step(
    ctx: Context, region: Region, slot: int, steps: Stepper, position: Expr, reached: Var
) -> None:
    """One whole step of a single stepper."""
    stop = steps.stop_of(ctx, region.index.name, position)
    facts = (region.start <= reached, reached < stop, stop <= region.stop)
    aligned = ctx.prover.equal(region.start, steps.start)
    with ctx.prover.assuming(*facts):
        body = steps.step(ctx, position)
        if aligned:
            body = from_start(ctx, body, reached)
        steps.note(ctx, region.body, position, stop)
        region.between(reached, stop).put(slot, body).lower(ctx)
    with ctx.unless_left(needed=False):
        ctx.assign(reached, stop)


def split_tails(ctx: Context, region: Region, slots: list[int]) -> bool:
    """Split each stepper from its tail, so that no stepper runs out within a phase.

    Gives whether there was one to split; the region has then been emitted.
    """
    parted = region
    for k in slots:
        steps: Stepper = region.looplets[k]  # type: ignore[assignment]
        if steps.tail is None:
            continue
        steps.synchronize(ctx, region)
        assert steps.end is not None
        end = steps.stop(steps.end - 1) if steps.last is None else steps.last(ctx)
        integer(end, "the last stop of a Stepper")
        last = ctx.let(
            f"{steps.label(region.index.name)}_last",
            ctx.ifelse(steps.position < steps.end, end, region.start),
        )
        ctx.prover.know_le(last, ctx.prover.maximum(steps.bound, region.start))
        ctx.prover.know_le(region.start, last)
        ends = ends_all(ctx, region, k, steps)
        body = evolve(steps, tail=None, bound=last, whole=True, ends=ends)
        parted = parted.put(k, Sequence((Phase(last, body), Phase(None, as_looplet(steps.tail)))))
    if parted is region:
        return False
    parted.lower(ctx)
    return True


def merge(ctx: Context, region: Region, slots: list[int]) -> None:
    """Several steppers: a loop over the ends of their steps, whichever comes first."""
    steps: dict[int, Stepper] = {k: region.looplets[k] for k in slots}  # type: ignore[misc]
    for stepper in steps.values():
        stepper.synchronize(ctx, region)
    name = region.index.name
    reached = ctx.var(f"{name}_reached", region.start)
    left = none_has_run_out(ctx, region, steps.values())
    more = reached < region.stop if left is None else left
    with ctx.while_(more), ctx.prover.assuming(region.start <= reached):
        now = {k: s.now(ctx) for k, s in steps.items()}
        for k, stepper in steps.items():
            if stepper.end is not None and not stepper.whole:
                left = stepper.position < stepper.end
                require_covered(ctx, region, k, ctx.ifelse(left, region.stop, reached))
        stops = {k: s.stop_of(ctx, s.label(name), now[k]) for k, s in steps.items()}
        for k, stop in stops.items():
            ctx.prover.know_le(reached + 1, stop)
            ctx.prover.know_le(stop, steps[k].bound)
        least = ctx.prover.minimum(*stops.values())
        whole = ctx.prover.le(least, region.stop)
        stop = ctx.bind_stop(name, least if whole else ctx.prover.minimum(least, region.stop))
        ctx.prover.know_le(reached + 1, stop)
        step = region.between(reached, stop)
        bodies = {k: s.step(ctx, now[k]) for k, s in steps.items()}
        steady = {k: body for k, body in bodies.items() if is_steady(ctx, body)}
        asked = [_Step(k, steps[k], bodies[k], stops[k]) for k in slots if k not in steady]
        certain = whole and not steady
        step = evolve(step, looplets=step.looplets | steady)
        _cases(ctx, step, asked, certain)
        for k in steady:
            _advance_past(ctx, steps[k], stops[k], stop)
        ctx.assign(reached, stop)
        for stepper in steps.values():
            ctx.cursors[stepper.position] = reached
        early = end_early(ctx, region, reached, {s.position: s.position for s in steps.values()})
    for stepper in steps.values():
        if early:
            ctx.cursors[stepper.position] = None
        else:
            stepper.arrive(ctx, region)


def is_steady(ctx: Context, body: Looplet) -> bool:
    """Whether a step's body is the same wherever the region ends."""
    return ctx.allows("steady") and body.truncated() == body


def _advance_past(ctx: Context, stepper: Stepper, end: Expr, stop: Expr) -> None:
    """Advance if a step ends at ``stop``; its body does not depend on that."""

    def goes_on() -> None:
        ctx.cursors[stepper.position] = stop

    ctx.fork(end.eq(stop), lambda: stepper.advance(ctx, stop), goes_on, likely=True)


@frozen(eq=False)
class _Step:
    """What the stepper in a slot is about to do: its body up to ``stop``."""

    slot: int
    stepper: Stepper
    body: Looplet
    stop: Expr


def _cases(ctx: Context, region: Region, steps: list[_Step], certain: bool) -> None:
    """Emit the cases by which steps end with the region, so that their bodies are whole.

    ``certain``: one of ``steps`` does.
    """
    if not steps:
        region.lower(ctx)
        return
    this, *others = steps

    def ends() -> None:
        this.stepper.note(ctx, region.body, this.stepper.position, this.stop)
        _cases(ctx, region.put(this.slot, this.body), others, certain=False)
        this.stepper.advance(ctx, region.stop)

    def goes_on() -> None:
        _cases(ctx, region.put(this.slot, this.body.truncated()), others, certain)
        ctx.cursors[this.stepper.position] = region.stop

    if certain and not others:
        ends()
    else:
        ctx.fork(this.stop.eq(region.stop), ends, goes_on)
