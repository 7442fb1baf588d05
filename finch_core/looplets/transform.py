"""Transformed looplets of wrappers: shifted coordinates and wrapped subtensors.

Paper, section "Wrapperization": wrappers "modify the ranges declared by any looplets the
wrapper contains".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from finch_core.interface.looplet import Looplet, Precedence
from finch_core.interface.run import Part, Run, as_looplet, as_subtensor
from finch_core.interface.tensorlike import TensorLike
from finch_core.ir.expressions import Expr, Literal
from finch_core.looplets.accept_run import AcceptRun
from finch_core.looplets.calls import lower_looplet
from finch_core.looplets.jumper import Jumper
from finch_core.looplets.lookup import Lookup
from finch_core.looplets.packed import Packed
from finch_core.looplets.region import Region
from finch_core.looplets.sequence import Phase, Sequence
from finch_core.looplets.spike import Spike
from finch_core.looplets.stepper import Stepper
from finch_core.looplets.switch import Switch
from finch_core.looplets.thunk import Thunk, yielded
from finch_core.looplets.walk_ends import Seek
from finch_core.records import evolve, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context


def plus(index: Expr, shift: Expr) -> Expr:
    """``index + shift``, without a negative constant."""
    if isinstance(shift, Literal) and shift.value < 0:
        return index - (-int(shift.value))
    return index + shift


def minus(index: Expr, shift: Expr) -> Expr:
    """``index - shift``, without a negative constant."""
    if isinstance(shift, Literal) and shift.value < 0:
        return index + -int(shift.value)
    return index - shift


@frozen
class Transform:
    """A transformation of looplets.

    ``subtensor`` is applied to each tensor in it; what was at ``i + shift`` moves to ``i``
    (None: no shift).
    """

    subtensor: Callable[[TensorLike], TensorLike]
    shift: Expr | None = None

    def inner(self, index: Expr) -> Expr:
        """The wrapped looplet's coordinate for ``index``."""
        return index if self.shift is None else plus(index, self.shift)

    def outer(self, index: Expr) -> Expr:
        """The coordinate outside the wrapper for the wrapped looplet's ``index``."""
        return index if self.shift is None else minus(index, self.shift)

    def part(self, part: Part, maker: Any = None) -> Part:
        """``part``, which the function ``maker`` made, transformed."""
        if isinstance(part, Looplet):
            return self.looplet(part)
        return self.subtensor(as_subtensor(part, maker))

    def looplet(self, looplet: Looplet) -> Looplet:
        """``looplet`` transformed, including all its parts."""
        for kind in type(looplet).__mro__:
            if kind in _RULES:
                result: Looplet = _RULES[kind](self, looplet)
                return result
        return Moved(looplet, self)


def _run(t: Transform, looplet: Run) -> Looplet:
    return Run(t.subtensor(looplet.body))


def _lookup(t: Transform, looplet: Lookup) -> Looplet:
    return Lookup(lambda ctx, i: t.part(looplet.body(ctx, t.inner(i)), looplet.body))


def _accept_run(t: Transform, looplet: AcceptRun) -> Looplet:
    def body(ctx: Context, start: Expr, stop: Expr) -> Part:
        return t.part(looplet.body(ctx, t.inner(start), t.inner(stop)), looplet.body)

    return evolve(looplet, body=body)


def _switch(t: Transform, looplet: Switch) -> Looplet:
    return evolve(looplet, head=t.part(looplet.head), tail=t.part(looplet.tail))


def _spike(t: Transform, looplet: Spike) -> Looplet:
    return evolve(looplet, body=t.part(looplet.body), tail=t.part(looplet.tail))


def _phase(t: Transform, looplet: Phase) -> Phase:
    stop = None if looplet.stop is None else t.outer(looplet.stop)
    return evolve(looplet, stop=stop, body=t.part(looplet.body))


def _sequence(t: Transform, looplet: Sequence) -> Looplet:
    return evolve(looplet, phases=tuple(_phase(t, phase) for phase in looplet.phases))


def _thunk(t: Transform, looplet: Thunk) -> Looplet:
    return around_thunk(looplet, t.part)


def _stepper(t: Transform, looplet: Stepper) -> Looplet:
    last, present = looplet.last, looplet.present
    return evolve(
        looplet,
        stop=lambda q: t.outer(looplet.stop(q)),
        body=lambda ctx, q: t.part(looplet.body(ctx, q), looplet.body),
        seek=_moved(t, looplet.seek),
        bound=t.outer(looplet.bound),
        start=t.outer(looplet.start),
        tail=None if looplet.tail is None else t.part(looplet.tail),
        last=None if last is None else lambda ctx: t.outer(last(ctx)),
        present=None if present is None else lambda q, i: present(q, t.inner(i)),
        walked=looplet.walked if t.shift is None else None,
    )


def _packed(t: Transform, looplet: Packed) -> Looplet:
    def body(ctx: Context, i: Expr) -> TensorLike:
        return t.subtensor(looplet.part(ctx, t.inner(i)))

    start, stop = t.outer(looplet.start), t.outer(looplet.stop)
    return evolve(looplet, body=body, fill=t.subtensor(looplet.fill), start=start, stop=stop)


def _moved(t: Transform, seek: Callable[[Context, Expr], None]) -> Callable[[Context, Expr], None]:
    if isinstance(seek, Seek):
        return seek.moved(t.inner)
    return lambda ctx, i: seek(ctx, t.inner(i))


_RULES: dict[type, Callable[[Transform, Any], Looplet]] = {
    Run: _run,
    Lookup: _lookup,
    AcceptRun: _accept_run,
    Switch: _switch,
    Spike: _spike,
    Phase: _phase,
    Sequence: _sequence,
    Thunk: _thunk,
    Stepper: _stepper,
    Jumper: _stepper,
    Packed: _packed,
}


@frozen
class Moved(Looplet):
    """A looplet of a kind without a rule here, such as a plugin's.

    It is lowered in its own coordinates, and ``by`` transforms the looplets that replace it.
    """

    looplet: Looplet
    by: Transform

    @property
    def precedence(self) -> Precedence:  # type: ignore[override]
        return self.looplet.precedence

    def lower(self, ctx: Context, region: Region, slot: int) -> None:
        start, stop = region.start, region.stop
        known = ((self.by.inner(start), start), (self.by.inner(stop), stop))
        looplets = {**region.looplets, slot: self.looplet}
        (begin, _), (end, _) = known
        inner = _Within(
            region.index, begin, end, region.body, looplets, region, slot, self.by, known
        )
        lower_looplet(ctx, self.looplet, inner, slot)

    def truncated(self) -> Looplet:
        cut = self.looplet.truncated()
        return self if cut == self.looplet else self.by.looplet(cut)

    def at(self, ctx: Context, index: Expr) -> Looplet:
        """The looplet at a single index."""
        found = self.looplet.at(ctx, self.by.inner(index))  # type: ignore[attr-defined]
        return self.by.looplet(as_looplet(found))


@frozen
class _Within(Region):
    """A part of the region ``outer`` in the coordinates of the looplet in ``slot``; other
    looplets keep theirs. ``known`` maps coordinates within to those outside."""

    outer: Region
    slot: int
    by: Transform
    known: tuple[tuple[Expr, Expr], ...]

    def lower(self, ctx: Context) -> None:
        looplets = dict(self.looplets)
        if self.slot in looplets:
            looplets[self.slot] = self.by.looplet(looplets[self.slot])
        start, stop = self._outside(self.start), self._outside(self.stop)
        part = self.outer.between(start, stop)
        evolve(part, body=self.body, looplets=looplets).lower(ctx)

    def fill(self, ctx: Context, slot: int, tensor: TensorLike) -> Region:
        """What the looplet puts in its own slot is wrapped, as its looplets are."""
        own = slot == self.slot
        return Region.fill(self, ctx, slot, self.by.subtensor(tensor) if own else tensor)

    def _outside(self, index: Expr) -> Expr:
        found = next((outer for inner, outer in self.known if inner == index), None)
        return self.by.outer(index) if found is None else found


def around_thunk(thunk: Thunk, change: Callable[[Part], Part]) -> Thunk:
    """``thunk`` with another body; its preamble and epilogue are the same."""

    def code(ctx: Context) -> Iterator[Part]:
        steps = thunk.code(ctx)
        yield change(yielded(thunk, steps))
        yield from steps

    return evolve(thunk, code=code)


def inside(looplet: Part, change: Callable[[Part], Part]) -> Part:
    """``change`` applied within thunks and switches, so that a thunk around an output's whole
    fiber is not split."""
    if isinstance(looplet, Thunk):
        return around_thunk(looplet, lambda part: inside(part, change))
    if isinstance(looplet, Switch):
        head, tail = inside(looplet.head, change), inside(looplet.tail, change)
        return evolve(looplet, head=head, tail=tail)
    return change(looplet)


__all__ = ["Transform", "around_thunk", "inside", "minus", "plus"]
