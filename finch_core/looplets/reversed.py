"""Reversed looplets: what was at ``-i`` moves to ``i``.

A range of indices from ``start`` up to ``stop`` becomes the range from ``1 - stop`` up to
``1 - start``. A sorted list is walked from its end:

    for k in range(0, ptr[p + 1] - ptr[p]):
        i = -idx[ptr[p + 1] - 1 - k]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from finch_core.interface.looplet import Looplet
from finch_core.interface.run import Part, Run, as_looplet
from finch_core.ir.expressions import Expr, Var
from finch_core.looplets.lookup import Lookup
from finch_core.looplets.sequence import Phase, Sequence
from finch_core.looplets.spike import Spike
from finch_core.looplets.step_starts import from_start
from finch_core.looplets.stepper import Stepper
from finch_core.looplets.strided import Single, around, before, is_list, looked_up
from finch_core.looplets.switch import Switch
from finch_core.looplets.thunk import Thunk
from finch_core.records import evolve, frozen
from finch_core.symbolic.affine import collected

if TYPE_CHECKING:
    from finch_core.interface.context import Context

Ends = tuple[Expr | None, Expr | None]
"""Where a looplet starts and stops, as far as it has ends of its own."""

NOWHERE: Ends = (None, None)


def mirrored(end: Expr) -> Expr:
    """The end, in the other direction, of a range with this end."""
    return collected(1 - end)


@frozen
class Reversal:
    """The indices of a looplet in the opposite order.

    ``single`` replaces looplets that no rule here can reverse: those of a plugin, and steppers
    whose steps are not numbered one after another. Each index is then looked up.
    """

    single: Single

    def looplet(self, ctx: Context, looplet: Looplet, bounds: Ends) -> Looplet:
        """``looplet`` reversed, from its ``bounds``."""
        for kind in type(looplet).__mro__:
            if kind in _RULES:
                result: Looplet = _RULES[kind](self, ctx, looplet, bounds)
                return result
        return self.looked_up()

    def part(self, ctx: Context, part: Part, bounds: Ends) -> Part:
        return self.looplet(ctx, part, bounds) if isinstance(part, Looplet) else part

    def looked_up(self) -> Lookup:
        return looked_up(self.single, lambda i: -1 * i)


def _same(t: Reversal, ctx: Context, looplet: Looplet, bounds: Ends) -> Looplet:
    return looplet


def _lookup(t: Reversal, ctx: Context, looplet: Lookup, bounds: Ends) -> Looplet:
    def body(ctx: Context, i: Expr) -> Part:
        at = 0 - i
        return t.part(ctx, looplet.at(ctx, at), (at, at + 1))

    return evolve(looplet, body=body)


def _switch(t: Reversal, ctx: Context, looplet: Switch, bounds: Ends) -> Looplet:
    head, tail = t.part(ctx, looplet.head, bounds), t.part(ctx, looplet.tail, bounds)
    return evolve(looplet, head=head, tail=tail)


def _thunk(t: Reversal, ctx: Context, looplet: Thunk, bounds: Ends) -> Looplet:
    return around(looplet, lambda ctx, body: t.part(ctx, body, bounds))


def _spike(t: Reversal, ctx: Context, looplet: Spike, bounds: Ends) -> Looplet:
    """The last index comes first."""
    start, stop = bounds
    if stop is None:
        return t.looked_up()
    last = before(stop)
    first = Phase(mirrored(last), t.part(ctx, looplet.tail, (last, stop)))
    return Sequence((first, Phase(None, t.part(ctx, looplet.body, (start, last)))))


def _sequence(t: Reversal, ctx: Context, looplet: Sequence, bounds: Ends) -> Looplet:
    """The phases in the opposite order; each starts where all before it have ended."""
    start, stop = bounds
    phases: list[Phase] = []
    for k, phase in enumerate(looplet.phases):
        end = stop if phase.stop is None else phase.stop
        if end is not None and phase.stop is not None and k > 0 and start is not None:
            end = ctx.prover.maximum(start, end)
        if start is not None and end is not None and ctx.prover.le(start, end):
            ctx.prover.know_le(mirrored(end), mirrored(start))
        body = t.part(ctx, phase.body, (start, end))
        phases.append(Phase(None if k == 0 or start is None else mirrored(start), body))
        start = end
    return Sequence(tuple(reversed(phases)))


def _stepper(t: Reversal, ctx: Context, steps: Stepper, bounds: Ends) -> Looplet:
    if steps.end is None or steps.following is not None or steps.present is not None:
        return t.looked_up()
    if is_list(ctx, steps):
        return _listed(t, _Backwards.of(ctx, steps))
    return t.looked_up() if steps.early else _stepped(t, ctx, _Backwards.of(ctx, steps))


@frozen
class _Backwards:
    """The steps of ``steps`` from the last to the ``first``, numbered by ``position``."""

    steps: Stepper
    first: Expr
    position: Var

    @classmethod
    def of(cls, ctx: Context, steps: Stepper) -> _Backwards:
        base = steps.position.name.rpartition("_")[0]
        first = ctx.let(f"{base}_first", steps.position)
        return cls(steps, first, ctx.var(f"{base}_k", 0))

    @property
    def count(self) -> Expr:
        return self.end - self.first

    @property
    def end(self) -> Expr:
        assert self.steps.end is not None
        return self.steps.end

    def step(self, k: Expr) -> Expr:
        """The number in ``steps`` of step ``k`` from the end."""
        return self.end - 1 - k

    def high(self, ctx: Context) -> Expr:
        """Where the last step ends; the rest is the tail's."""
        if self.steps.tail is None:
            return self.steps.bound
        last = ctx.ifelse(self.first < self.end, self.steps.stop(self.end - 1), self.steps.start)
        return ctx.let(f"{self.position.name}_high", last)

    def sought(self, ctx: Context, index: Expr) -> Var:
        """Emit a search from the first step on; gives the position that is found."""
        ctx.assign(self.steps.position, self.first)
        self.steps.seek(ctx, index)
        return self.steps.position


def _listed(t: Reversal, back: _Backwards) -> Stepper:
    """A list of single indices: the run between two of them comes before the lower one."""
    steps = back.steps

    def body(ctx: Context, k: Expr) -> Part:
        spike: Any = steps.step(ctx, back.step(k))
        return Spike(spike.body, t.part(ctx, spike.tail, NOWHERE))

    def seek(ctx: Context, i: Expr) -> None:
        ctx.assign(back.position, back.end - back.sought(ctx, 1 - i))

    return evolve(
        steps,
        position=back.position,
        end=back.count,
        stop=lambda k: mirrored(before(steps.stop(back.step(k)))),
        body=body,
        seek=seek,
        bound=mirrored(steps.start),
        start=mirrored(steps.bound),
        last=None,
        walked=None,
        fiber=None,
    )


def _stepped(t: Reversal, ctx: Context, back: _Backwards) -> Looplet:
    """Steps of any kind: the tail comes first, then each step from its own start."""
    steps, low, high = back.steps, back.steps.start, back.high(ctx)
    begin = ctx.bind(f"{back.position.name}_begin", mirrored(high))
    ctx.prover.know_le(mirrored(steps.bound), begin)
    ctx.prover.know_le(begin, mirrored(low))

    def lower(q: Expr) -> Expr:
        return ctx.ifelse(back.first < q, steps.stop(q - 1), low)

    def body(ctx: Context, k: Expr) -> Part:
        q = back.step(k)
        start = ctx.bind(f"{back.position.name}_start", lower(q))
        return t.part(ctx, from_start(ctx, steps.step(ctx, q), start), (start, steps.stop(q)))

    def seek(ctx: Context, i: Expr) -> None:
        found = back.end - 1 - back.sought(ctx, 0 - i)
        ctx.assign(back.position, found.max(0))

    stepper = evolve(
        steps,
        position=back.position,
        end=back.count,
        stop=lambda k: mirrored(lower(back.step(k))),
        body=body,
        seek=seek,
        bound=mirrored(low),
        start=begin,
        walked=None,
        fiber=None,
        tail=None,
        whole=True,
    )
    if steps.tail is None:
        return stepper
    tail = t.part(ctx, as_looplet(steps.tail), (high, None))
    return Sequence((Phase(begin, tail), Phase(None, stepper)))


_RULES: dict[type, Callable[[Reversal, Any, Any, Ends], Looplet]] = {
    Run: _same,
    Lookup: _lookup,
    Switch: _switch,
    Thunk: _thunk,
    Spike: _spike,
    Sequence: _sequence,
    Stepper: _stepper,
}


__all__ = ["Reversal", "mirrored"]
