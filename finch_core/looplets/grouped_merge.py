"""Grouped merges: many steppers are merged in groups, of which only those are looked at in which a
step ends.

Where a predicated merge asks each of N operands at each step whether it is there, N steppers are
kept in about sqrt(N) groups, each with the first end of a step in it. Between two steps most groups
are passed by one comparison. A sum whose terms are fill where nothing is stored is summed up on the
way, in the order of its terms:

    least = min(A_end, B_end, ...)               # one for each group
    while least <= n:
        total = 0
        if A_end == least:
            if A_i == least:                     # one for each stepper of the group
                total = total + A_val[A_p]
                A_p += 1
                A_i = A_idx[A_p] + 1 if A_p < A_stop else n + 1
            ...
            A_end = min(A_i, A_i_2, ...)
        ...
        C[least - 1] = total
        least = min(A_end, B_end, ...)

Runs keep their values in variables, which change where a run ends.

Steppers through one list that are shifted from one to the next by an index, as reads of a window
are, have the entries of the list in the window. Where their terms are alike, one position, that of
the first of these entries, stands for all.

    if A_first == least:
        q = A_p
        while q < A_stop and A_idx[q] - 1 <= least:
            total = total + A_val[q]
            q += 1
        if A_idx[A_p] + 1 == least:                  # the first entry leaves the window
            A_p += 1
        A_first = max(A_idx[A_p] - 1, least + 1) if A_p < A_stop else n + 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from finch_core.interface.looplet import Looplet
from finch_core.interface.run import Run, as_looplet
from finch_core.interface.tensorlike import Constant, TensorLike
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import TRUE, Access, Call, Expr, Literal, Name, Var, call, cast
from finch_core.ir.program import Stmt, Update
from finch_core.ir.rewrite import rewrite_expr, substitute_index
from finch_core.looplets.accept_run import AcceptRun
from finch_core.looplets.lookup import Lookup
from finch_core.looplets.loop_strides import stride_of
from finch_core.looplets.merge_cost import step_of, written_slots
from finch_core.looplets.region import Region, is_empty
from finch_core.looplets.short_circuit import may_end_early
from finch_core.looplets.slots import AccessSlot, fill_of, fill_slot, slots_of
from finch_core.looplets.spike import Spike
from finch_core.looplets.stepper import Stepper
from finch_core.records import evolve, frozen
from finch_core.symbolic.algebra import is_identity

if TYPE_CHECKING:
    from typing import Self

    from finch_core.interface.context import Context
    from finch_core.ir.operators import Operator

MANY = 8
"""The least number of steppers that are merged in groups."""

WIDE = 3
"""The least number of steppers through one list that have one position."""


def lower_grouped(ctx: Context, region: Region) -> bool:
    """Emit a region whose steppers are many and have a value at each index, in groups.

    Gives whether it was emitted; nothing is for other regions.
    """
    steppers = _steppers(ctx, region)
    if len(steppers) < MANY:
        return False
    bodies = {k: step_of(ctx, stepper) for k, stepper in steppers.items()}
    if all(map(_is_element, bodies.values())):
        if any(stepper.tail is not None or not stepper.whole for stepper in steppers.values()):
            return False
        _go_along(ctx, region, steppers)
        return True
    total = _total_of(ctx, region, steppers)
    if total is None or not _are_entries(region, steppers, bodies):
        return False
    _sum_up(ctx, region, steppers, total)
    return True


def _steppers(ctx: Context, region: Region) -> dict[int, Stepper]:
    """The steppers of a region that is one update at each index, if it has nothing else that
    moves."""
    body = region.body
    if not isinstance(body, Update) or region.is_point(ctx) or stride_of(ctx, region) is not None:
        return {}
    written = written_slots(region)
    found: dict[int, Stepper] = {}
    for k, looplet in region.looplets.items():
        if type(looplet) is Stepper and k not in written and not looplet.anchored:
            found[k] = looplet
        elif not isinstance(looplet, (Lookup, AcceptRun)):
            return {}
    if len(found) < MANY or may_end_early(ctx, region):
        return {}
    slots = [slot for slot in slots_of(body) if slot.number in found]
    target = body.target.tensor.root
    plain = all(s.ndim == 1 and s.view is None and s.root is not target for s in slots)
    return found if plain else {}


def _is_element(looplet: Looplet) -> bool:
    """Whether a looplet is the same stored number at each index."""
    if not isinstance(looplet, Run) or looplet.fails or looplet.body.ndim:
        return False
    dtype = looplet.body.dtype
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def _are_entries(region: Region, steppers: dict[int, Stepper], bodies: dict[int, Looplet]) -> bool:
    """Whether each step is fill up to an element at its end, and there is fill behind the last."""
    fills = {slot.number: fill_of(slot) for slot in slots_of(region.body)}
    for k, body in bodies.items():
        fill = fills[k]
        if fill is None or not isinstance(body, Spike) or not _is_element(as_looplet(body.tail)):
            return False
        tail = steppers[k].tail
        if tail is None or not all(x == Run(fill) for x in map(as_looplet, (body.body, tail))):
            return False
    return True


# -- sums ---------------------------------------------------------------------------------------


@frozen(eq=False)
class _Total:
    """A part ``whole`` of the body that combines ``terms`` in their order, each by the slot of the
    stepper that it reads; where that is fill, the term is the identity of ``op``."""

    op: Operator
    whole: Expr
    terms: dict[int, Expr]

    def identity(self) -> Literal:
        assert self.op.identity is not None
        dtype = concrete(self.whole.dtype)
        return Literal(self.op.identity(dtype), dtype)


def _total_of(ctx: Context, region: Region, steppers: dict[int, Stepper]) -> _Total | None:
    """The sum (or product, ...) that has all ``steppers`` of a region as its terms; None if there
    is none, or if the body does anything where all are fill."""
    body = region.body
    assert isinstance(body, Update)
    fills = {slot.number: fill_of(slot) for slot in slots_of(body)}
    if any(fills[k] is None for k in steppers):
        return None
    for part in body.value.walk():
        if isinstance(part, Call) and part.op.associative and part.op.identity is not None:
            terms = _terms(part, part.op)
            slots = [[s.number for s in slots_of(term)] for term in terms]
            if any(len(s) != 1 or s[0] not in steppers for s in slots) or not all(
                map(_is_own, terms)
            ):
                return None
            by_slot = {found[0]: term for found, term in zip(slots, terms, strict=True)}
            total = _Total(part.op, part, by_slot)
            if len(by_slot) == len(terms) == len(steppers) and _vanishes(ctx, body, total, fills):
                return total
            return None
    return None


def _terms(expr: Call, op: Operator) -> list[Expr]:
    """What ``op`` combines from left to right."""
    terms: list[Expr] = []
    rest: Expr = expr
    while isinstance(rest, Call) and rest.op is op and len(rest.args) == 2:
        if rest.dtype != expr.dtype or rest.args[1].dtype != expr.dtype:
            break
        terms.append(rest.args[1])
        rest = rest.args[0]
    return [rest, *reversed(terms)]


def _is_own(term: Expr) -> bool:
    """Whether a term reads nothing but its operand."""
    return not any(
        isinstance(node, Name)
        or (isinstance(node, Access) and not isinstance(node.tensor, AccessSlot))
        for node in term.walk()
    )


def _vanishes(ctx: Context, body: Update, total: _Total, fills: dict[int, Constant | None]) -> bool:
    """Whether each term is the identity where its operand is fill, and the body does nothing
    where all are."""
    dtype = concrete(total.whole.dtype)
    nothing: Update = body
    for k, term in total.terms.items():
        fill = fills[k]
        assert fill is not None
        alone = fill_slot(ctx, evolve(body, value=term), k, fill)
        assert isinstance(alone, Update)
        if term.dtype != dtype or not is_identity(total.op, ctx.simplify_expr(alone.value), dtype):
            return False
        nothing = fill_slot(ctx, nothing, k, fill)  # type: ignore[assignment]
    return is_empty(ctx.simplify(nothing))


# -- merges -------------------------------------------------------------------------------------


@frozen(eq=False)
class _Merge:
    """The merge of the ``steppers`` of a region: the variables in which each has the end of its
    step, and those in which each group of them has the first of these."""

    ctx: Context
    region: Region
    steppers: dict[int, Stepper]
    ends: dict[int, Var]
    firsts: dict[tuple[int, ...], Var]
    windows: frozenset[tuple[int, ...]]
    """The groups whose steppers have one position, that of the first of them."""

    @classmethod
    def of(
        cls,
        ctx: Context,
        region: Region,
        steppers: dict[int, Stepper],
        windows: frozenset[tuple[int, ...]] = frozenset(),
    ) -> Self:
        """The merge, after the code that sets each stepper to the begin of the region."""
        name = region.index.name
        merge = cls(ctx, region, steppers, {}, {}, windows)
        for group in _groups(tuple(steppers), windows):
            for k in group[:1] if group in windows else group:
                steppers[k].synchronize(ctx, region)
                if group not in windows:
                    label = f"{steppers[k].label(name)}_stop"
                    merge.ends[k] = ctx.var(label, merge.end_of(k))
            merge.firsts[group] = ctx.var(f"{name}_first", merge.first_of(group, region.start))
        ctx.loop_cursors(steppers.values())
        return merge

    def left(self, k: int) -> Expr:
        """Whether stepper ``k`` has a step at its position."""
        stepper = self.steppers[k]
        return TRUE if stepper.end is None else stepper.position < stepper.end

    def end_of(self, k: int) -> Expr:
        """Where that step ends; beyond the region if there is none."""
        stepper, beyond = self.steppers[k], self.region.stop + 1
        return self.ctx.ifelse(self.left(k), stepper.stop(stepper.position), beyond)

    def first_of(self, group: tuple[int, ...], reached: Expr) -> Expr:
        """The first end of a step in a group, after ``reached``."""
        if group not in self.windows:
            return _least(self.ends[k] for k in group)
        lead, last = self.steppers[group[0]], self.steppers[group[-1]]
        first = last.stop(lead.position).max(reached + 1)
        return self.ctx.ifelse(self.left(group[0]), first, self.region.stop + 1)

    def first(self) -> Expr:
        """The first end of any step."""
        return _least(self.firsts.values())

    def pass_ends(
        self,
        stop: Expr,
        leave: Callable[[int, Expr], None],
        enter: Callable[[int], None],
    ) -> None:
        """Advance the steppers whose steps end at ``stop``; ``leave(k, q)`` is emitted before,
        where step ``q`` ends, and ``enter(k)`` behind."""
        ctx = self.ctx
        for group, first in self.firsts.items():
            with ctx.if_(first.eq(stop)):
                if group in self.windows:
                    self._pass_window(group, stop, leave)
                for k in () if group in self.windows else group:
                    with ctx.if_(self.ends[k].eq(stop)):
                        leave(k, self.steppers[k].position)
                        self.steppers[k].advance(ctx, stop)
                        ctx.assign(self.ends[k], self.end_of(k))
                        enter(k)
                ctx.assign(first, self.first_of(group, stop))
        ctx.loop_cursors(self.steppers.values())

    def _pass_window(
        self, group: tuple[int, ...], stop: Expr, leave: Callable[[int, Expr], None]
    ) -> None:
        """The steps of a window that end at ``stop``: those from its position on."""
        ctx, lead, last = self.ctx, self.steppers[group[0]], self.steppers[group[-1]]
        assert lead.end is not None
        q = ctx.var("q", lead.position)
        with ctx.while_((q < lead.end).and_(last.stop(q) <= stop)):
            leave(group[0], q)
            ctx.assign(q, q + 1)
        with ctx.if_(lead.stop(lead.position).eq(stop)):
            lead.advance(ctx, stop)

    def finish(self) -> None:
        behind = {k for group in self.windows for k in group[1:]}
        for k, stepper in self.steppers.items():
            if k in behind:
                self.ctx.cursors[stepper.position] = None
            else:
                stepper.arrive(self.ctx, self.region)

    def element(self, k: int, position: Expr) -> TensorLike:
        """What step ``position`` of stepper ``k`` has: at its end, or all along it."""
        return _element(self.ctx, self.steppers[k], position)


def _element(ctx: Context, stepper: Stepper, position: Expr) -> TensorLike:
    body = stepper.step(ctx, position)
    found = as_looplet(body.tail) if isinstance(body, Spike) else body
    assert isinstance(found, Run)
    return found.body


def _windows(
    ctx: Context, body: Update, steppers: dict[int, Stepper], total: _Total
) -> frozenset[tuple[int, ...]]:
    """The steppers through one list whose terms are alike, in their order, of which each is an
    index ahead of the one before it."""

    def at(k: int, position: Expr, behind: int = 0) -> tuple[Expr, Stmt]:
        """Where step ``position`` would end if stepper ``k`` were ``behind`` by that many indices,
        and its term there."""
        steps, term = steppers[k], evolve(body, value=total.terms[k])
        step = ctx.look(lambda: fill_slot(ctx, term, k, _element(ctx, steps, position)))
        return steps.stop(position) + behind, step

    runs: list[tuple[int, ...]] = []
    for k, stepper in steppers.items():
        lead = steppers[runs[-1][0]] if runs else stepper
        alike = bool(runs) and _one_list(lead, stepper)
        if alike and at(k, lead.position, len(runs[-1])) == at(runs[-1][0], lead.position):
            runs[-1] += (k,)
        else:
            runs.append((k,))
    return frozenset(run for run in runs if len(run) >= WIDE)


def _one_list(a: Stepper, b: Stepper) -> bool:
    """Whether two steppers go through the steps of one list, one by one."""
    plain = all(s.following is None and s.present is None and s.end is not None for s in (a, b))
    return plain and a.fiber is not None and a.fiber == b.fiber and a.end == b.end


def _groups(
    slots: tuple[int, ...], windows: frozenset[tuple[int, ...]]
) -> Iterator[tuple[int, ...]]:
    """The windows, and about as many groups of others as there are members in each, in their
    order."""
    size, begun = isqrt(len(slots) - 1) + 1, {window[0]: window for window in windows}
    inside = {k for window in windows for k in window}
    group: tuple[int, ...] = ()
    for k in slots:
        if group and (k in inside or len(group) == size):
            yield group
            group = ()
        if k in begun:
            yield begun[k]
        elif k not in inside:
            group += (k,)
    if group:
        yield group


def _least(ends: Iterable[Expr]) -> Expr:
    return reduce(lambda a, b: a.min(b), ends)


def _sum_up(ctx: Context, region: Region, steppers: dict[int, Stepper], total: _Total) -> None:
    """Emit the merge of lists: one index at a time, at which there is an entry of any."""
    ordered = {k: steppers[k] for k in total.terms}
    name, body = region.index.name, region.body
    assert isinstance(body, Update)
    merge = _Merge.of(ctx, region, ordered, _windows(ctx, body, ordered, total))
    least = ctx.var(f"{name}_least", merge.first())
    with ctx.while_(least <= region.stop), ctx.prover.assuming():
        stop = ctx.let(f"{name}_stop", least)
        ctx.prover.know_le(region.start + 1, stop)
        ctx.prover.know_le(stop, region.stop)
        found = ctx.var("total", total.identity())

        def add(k: int, position: Expr) -> None:
            term = fill_slot(ctx, evolve(body, value=total.terms[k]), k, merge.element(k, position))
            term = ctx.simplify(substitute_index(term, region.index, stop - 1))
            assert isinstance(term, Update)
            ctx.assign(found, call(total.op, found, term.value))

        merge.pass_ends(stop, add, lambda k: None)
        value = rewrite_expr(body.value, lambda part: found if part == total.whole else part)
        rest = {k: looplet for k, looplet in region.looplets.items() if k not in steppers}
        at = evolve(region, body=evolve(body, value=value), looplets=rest)
        at.between(stop - 1, stop).lower(ctx)
        ctx.assign(least, merge.first())
    merge.finish()


def _go_along(ctx: Context, region: Region, steppers: dict[int, Stepper]) -> None:
    """Emit the merge of runs: from the end of one to the next."""
    merge, name = _Merge.of(ctx, region, steppers), region.index.name
    values: dict[int, Var] = {}

    def enter(k: int) -> None:
        with ctx.if_(merge.left(k)):
            value = merge.element(k, steppers[k].position).read(ctx)
            ctx.assign(values[k], cast(value, concrete(values[k].dtype)))

    for k, stepper in steppers.items():
        dtype = concrete(ctx.look(lambda s=stepper: _element(ctx, s, s.position)).dtype)  # type: ignore[misc]
        values[k] = ctx.var(
            f"{steppers[k].label(name)}_value", Literal(np.zeros((), dtype)[()], dtype)
        )
        enter(k)
    reached = ctx.var(f"{name}_reached", region.start)
    with ctx.while_(reached < region.stop), ctx.prover.assuming(region.start <= reached):
        stop = ctx.let(f"{name}_stop", merge.first().min(region.stop))
        ctx.prover.know_le(reached + 1, stop)
        ctx.prover.know_le(stop, region.stop)
        body = region.body
        for k, value in values.items():
            body = fill_slot(ctx, body, k, Constant(value))
        rest = {k: looplet for k, looplet in region.looplets.items() if k not in steppers}
        part = evolve(region, body=ctx.simplify(body), looplets=rest)
        part.between(reached, stop).lower(ctx)
        merge.pass_ends(stop, lambda k, q: None, enter)
        ctx.assign(reached, stop)
    merge.finish()


__all__ = ["lower_grouped"]
