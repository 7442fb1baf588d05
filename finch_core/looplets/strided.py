"""Strided looplets: what was at ``step * i`` moves to ``i``, and what is between is left out.

A range of indices up to ``stop`` becomes the range up to ``stop / step``, rounded up. Of a sorted
list only the stored indices that are multiples of ``step`` are left, so that a loop visits those:

    for q in range(ptr[p], ptr[p + 1]):
        if idx[q] % 2 == 0:
            i = idx[q] // 2
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from finch_core.interface.looplet import Looplet
from finch_core.interface.run import Part, Run, as_looplet
from finch_core.ir import primitives as prim
from finch_core.ir.builder import negation
from finch_core.ir.expressions import Expr, Literal, call
from finch_core.looplets.lookup import Lookup
from finch_core.looplets.sequence import Phase, Sequence
from finch_core.looplets.spike import Spike
from finch_core.looplets.stepper import Stepper
from finch_core.looplets.switch import Switch
from finch_core.looplets.thunk import Thunk, yielded
from finch_core.looplets.transform import Transform
from finch_core.records import evolve, frozen
from finch_core.symbolic.affine import collected
from finch_core.symbolic.prover import plus_constant

if TYPE_CHECKING:
    from finch_core.interface.context import Context

Single = Callable[["Context"], Looplet]
"""The looplet by which one index of a tensor is found, unfurled anew."""


@frozen
class Stride:
    """Every ``step``-th index of a looplet, from index 0 on.

    ``step`` is positive. ``single`` replaces looplets that no rule here can stride, such as those
    of a plugin: each index is then looked up.
    """

    step: Expr
    single: Single

    def looplet(self, ctx: Context, looplet: Looplet, stop: Expr | None) -> Looplet:
        """``looplet`` strided; ``stop`` is where it ends, None if it has no end of its own."""
        for kind in type(looplet).__mro__:
            if kind in _RULES:
                result: Looplet = _RULES[kind](self, ctx, looplet, stop)
                return result
        return looked_up(self.single, lambda i: i * self.step)

    def part(self, ctx: Context, part: Part, stop: Expr | None) -> Part:
        return self.looplet(ctx, part, stop) if isinstance(part, Looplet) else part

    def outer(self, stop: Expr) -> Expr:
        """The end, among the multiples of the step, of a range that ends at ``stop``."""
        return collected(stop + (self.step - 1)) // self.step

    def divides(self, index: Expr) -> Expr:
        """Whether ``index`` is a multiple of the step."""
        by = _power_of_two(self.step)
        rest = call(prim.fmod, index, self.step) if by is None else index & (2**by - 1)
        return rest.eq(0)

    def quotient(self, index: Expr) -> Expr:
        """A multiple of the step, divided by it."""
        by = _power_of_two(self.step)
        return index // self.step if by is None else index >> by


def _power_of_two(step: Expr) -> int | None:
    if isinstance(step, Literal) and int(step.value).bit_count() == 1:
        return int(step.value).bit_length() - 1
    return None


def before(stop: Expr) -> Expr:
    """The last index of a range that ends at ``stop``."""
    return plus_constant(stop, -1)


def looked_up(single: Single, place: Callable[[Expr], Expr]) -> Lookup:
    """The looplet that looks up ``place(i)`` at each index ``i``."""

    def body(ctx: Context, i: Expr) -> Part:
        return Transform(lambda sub: sub, place(i) - i).looplet(single(ctx))

    return Lookup(body)


def around(thunk: Thunk, change: Callable[[Context, Looplet], Part]) -> Thunk:
    """``thunk`` with its body changed."""

    def code(ctx: Context) -> Iterator[Part]:
        steps = thunk.code(ctx)
        yield change(ctx, yielded(thunk, steps))
        yield from steps

    return evolve(thunk, code=code)


def is_list(ctx: Context, steps: Stepper) -> bool:
    """Whether a stepper lists single indices, with one and the same run between and after them."""
    if steps.tail is None or steps.following is not None:
        return False
    first = ctx.look(lambda: steps.step(ctx, steps.position))
    rest = as_looplet(steps.tail)
    return isinstance(first, Spike) and isinstance(rest, Run) and as_looplet(first.body) == rest


# -- rules ----------------------------------------------------------------------------------


def _same(t: Stride, ctx: Context, looplet: Looplet, stop: Expr | None) -> Looplet:
    return looplet


def _lookup(t: Stride, ctx: Context, looplet: Lookup, stop: Expr | None) -> Looplet:
    def body(ctx: Context, i: Expr) -> Part:
        return t.part(ctx, looplet.at(ctx, i * t.step), None)

    return evolve(looplet, body=body)


def _switch(t: Stride, ctx: Context, looplet: Switch, stop: Expr | None) -> Looplet:
    head, tail = t.part(ctx, looplet.head, stop), t.part(ctx, looplet.tail, stop)
    return evolve(looplet, head=head, tail=tail)


def _thunk(t: Stride, ctx: Context, looplet: Thunk, stop: Expr | None) -> Looplet:
    return around(looplet, lambda ctx, body: t.part(ctx, body, stop))


def _spike(t: Stride, ctx: Context, looplet: Spike, stop: Expr | None) -> Looplet:
    """The last index is left if it is a multiple of the step."""
    body = t.part(ctx, looplet.body, None)
    whole = Spike(body, t.part(ctx, looplet.tail, None))
    return whole if stop is None else Switch(t.divides(before(stop)), whole, body)


def _sequence(t: Stride, ctx: Context, looplet: Sequence, stop: Expr | None) -> Looplet:
    ends = [phase.stop for phase in looplet.phases if phase.stop is not None]
    for one, other in pairwise(ends):
        if ctx.prover.le(one, other):
            ctx.prover.know_le(t.outer(one), t.outer(other))
    return evolve(looplet, phases=tuple(_phase(t, ctx, p, stop) for p in looplet.phases))


def _phase(t: Stride, ctx: Context, phase: Phase, stop: Expr | None) -> Phase:
    if phase.stop is None:
        return evolve(phase, body=t.part(ctx, phase.body, stop))
    return Phase(t.outer(phase.stop), t.part(ctx, phase.body, phase.stop))


def _stepper(t: Stride, ctx: Context, steps: Stepper, stop: Expr | None) -> Looplet:
    if steps.present is not None:
        return looked_up(t.single, lambda i: i * t.step)
    strided = evolve(
        steps,
        seek=lambda ctx, i: steps.seek(ctx, i * t.step),
        bound=t.outer(steps.bound),
        start=t.outer(steps.start),
        tail=None if steps.tail is None else t.part(ctx, steps.tail, stop),
    )
    return _listed(t, steps, strided) if is_list(ctx, steps) else _stepped(t, steps, strided)


def _listed(t: Stride, steps: Stepper, strided: Stepper) -> Stepper:
    """The steps of a list whose index is a multiple of the step."""

    def body(ctx: Context, q: Expr) -> Part:
        spike: Any = steps.step(ctx, q)
        return Spike(spike.body, t.part(ctx, spike.tail, None))

    def present(q: Expr, i: Expr) -> Expr:
        return t.divides(before(steps.stop(q)))

    def stop_of(q: Expr) -> Expr:
        return t.quotient(before(steps.stop(q))) + 1

    def last(ctx: Context) -> Expr:
        assert steps.end is not None
        k = ctx.var(f"{steps.position.name}_last", steps.end)
        with ctx.while_((steps.position < k).and_(negation(present(k - 1, k)))):
            ctx.assign(k, k - 1)
        return stop_of(k - 1)

    strided = evolve(strided, walked=None, fiber=None)
    return evolve(strided, stop=stop_of, body=body, present=present, last=last)


def _stepped(t: Stride, steps: Stepper, strided: Stepper) -> Stepper:
    """Steps of any kind: those between two multiples of the step are empty."""
    last = steps.last

    def body(ctx: Context, q: Expr) -> Part:
        return t.part(ctx, steps.step(ctx, q), steps.stop(q))

    def stop_of(q: Expr) -> Expr:
        return t.outer(steps.stop(q))

    return evolve(
        strided,
        stop=stop_of,
        body=body,
        present=lambda q, i: i < stop_of(q),
        last=None if last is None else lambda ctx: t.outer(last(ctx)),
        walked=None,
        fiber=None,
    )


_RULES: dict[type, Callable[[Stride, Any, Any, Expr | None], Looplet]] = {
    Run: _same,
    Lookup: _lookup,
    Switch: _switch,
    Thunk: _thunk,
    Spike: _spike,
    Sequence: _sequence,
    Stepper: _stepper,
}


__all__ = ["Single", "Stride", "around", "before", "is_list", "looked_up"]
