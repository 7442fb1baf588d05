"""Pieces of operands in a predicated merge: one looplet each, with its end and its predicate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from finch_core.interface.looplet import Looplet
from finch_core.interface.run import Run
from finch_core.ir.builder import negation
from finch_core.ir.expressions import FALSE, Expr, Literal, Var
from finch_core.looplets.lookup import Lookup
from finch_core.looplets.select import select
from finch_core.looplets.spike import Spike
from finch_core.looplets.stepper import Stepper
from finch_core.looplets.switch import Switch
from finch_core.records import evolve, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context


@frozen
class Piece:
    """An operand from the current index up to ``stop`` (None: the end of what contains it).

    ``looplet`` is a run, a lookup, or a spike, whose tail is at the stop. ``present`` is the
    condition under which it is not fill; there it is ``alone``. A spike that is cut before its
    ``end`` has no tail. An ``open`` piece stops beyond the region where what contains it is
    absent. ``moves`` are the steppers that advance with the loop, each with the end of its
    step.
    """

    stop: Expr | None
    looplet: Looplet
    present: Expr
    alone: Looplet
    end: Expr | None = None
    open: bool = False
    moves: tuple[tuple[Expr, Stepper], ...] = ()

    def up_to(self, stop: Expr, open: bool = False) -> Piece:
        """This piece as a part of one that ends at ``stop``."""
        if self.stop is None:
            return evolve(self, stop=stop, end=stop, open=open)
        return evolve(self, stop=self.stop.min(stop), open=False)


class Conditions:
    """Conditions in variables of the kernel, one variable for each distinct condition."""

    def __init__(self, ctx: Context, name: str) -> None:
        self._ctx, self._name = ctx, name
        self._variables: dict[Expr, Expr] = {}

    def variable(self, kind: str, cond: Expr) -> Expr:
        """``cond`` as a variable named after the loop and ``kind``; its first use declares it."""
        if isinstance(cond, (Literal, Var)):
            return cond
        if cond not in self._variables:
            self._variables[cond] = self._ctx.let(f"{self._name}_{kind}", cond)
        return self._variables[cond]


def either(ctx: Context, cond: Expr, head: Piece, tail: Piece, last: Expr) -> Piece | None:
    """``head`` where ``cond`` holds, else ``tail``, in a region that stops at ``last``.

    None if they cannot be combined in one looplet.
    """
    moves = head.moves + tail.moves
    if isinstance(cond, Literal):
        return evolve(head if cond.value else tail, moves=moves)
    if head.open and tail.stop is None and _is_nothing_beside(head.looplet, tail.looplet):
        return evolve(head, moves=moves)
    stop = _first(ctx, cond, head.stop, tail.stop, last)
    end = _first(ctx, cond, head.end, tail.end, last)
    looplet = _mixed(cond, head.looplet, tail.looplet)
    if looplet is None:
        return None
    present = head.present
    if tail.present != present:
        present = cond.and_(head.present).or_(negation(cond).and_(tail.present))
    alone = looplet
    if tail.present == FALSE:
        alone = head.alone
    elif head.present == FALSE:
        alone = tail.alone
    return Piece(stop, looplet, present, alone, end, moves=moves)


def _first(ctx: Context, cond: Expr, yes: Expr | None, no: Expr | None, last: Expr) -> Expr | None:
    """One of two ends, where None stands for the region's end ``last``."""
    if yes is None and no is None:
        return None
    ends = [last if end is None else end for end in (yes, no)]
    return ctx.ifelse(cond, *ends)


def _is_nothing_beside(spike: Looplet, run: Looplet) -> bool:
    """Whether a spike without a tail is the same as a run."""
    return isinstance(spike, Spike) and isinstance(run, Run) and spike.body == run.body


def _mixed(cond: Expr, head: Looplet, tail: Looplet) -> Looplet | None:
    """One looplet that is ``head`` or ``tail`` by a condition; each is a run, a lookup or a
    spike."""
    if head == tail:
        return head
    if isinstance(head, Run) and isinstance(tail, Run):
        return Run(select(cond, head.body, tail.body))
    if isinstance(head, Lookup) or isinstance(tail, Lookup):
        return _looked_up(cond, head, tail)
    bodies = [looplet.body for looplet in (head, tail)]  # type: ignore[attr-defined]
    tails = [x.tail if isinstance(x, Spike) else x for x in (head, tail)]
    return Spike(select(cond, *bodies), Switch(cond, *tails))


def _looked_up(cond: Expr, head: Looplet, tail: Looplet) -> Lookup | None:
    """A lookup that is ``head`` or ``tail`` by a condition; one of them is a lookup."""
    if isinstance(head, Spike) or isinstance(tail, Spike):
        return None

    def at(ctx: Context, index: Expr) -> Looplet:
        yes = ctx.under(cond, lambda: _at(ctx, head, index))
        no = ctx.under(negation(cond), lambda: _at(ctx, tail, index))
        if any(not isinstance(x, Run) or x.fails for x in (yes, no)):
            return Switch(cond, yes, no)
        return Run(select(cond, yes.body, no.body))  # type: ignore[attr-defined]

    return Lookup(at)


def _at(ctx: Context, looplet: Looplet, index: Expr) -> Looplet:
    """A run or a lookup at a single index."""
    return looplet.at(ctx, index) if isinstance(looplet, Lookup) else looplet


__all__ = ["Conditions", "Piece", "either"]
