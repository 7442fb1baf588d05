"""Early exit: a loop ends once a reduction has reached a fixed point (paper, "Scalars").

for q in ...:                         for q in ...:
    p or= A[q]                            p or= A[q]
    s += A[q]               ->            s += A[q]
                                          if p:
                                              for q in (the rest): s += A[q]
                                              break
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.interface.tensorlike import TensorLike
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import FALSE, Expr, Literal, Var, cast, lift
from finch_core.ir.program import Declare, Sequential, Stmt, Update
from finch_core.ir.rewrite import rewrite_statements
from finch_core.looplets.region import Region, is_empty
from finch_core.records import evolve
from finch_core.symbolic.updates import update_dtype

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.ir.operators import Operator


def end_early(
    ctx: Context, region: Region, reached: Expr, synchronized: Mapping[Var, Expr] | None = None
) -> bool:
    """After a step of a loop over ``region`` that has come to ``reached``: exit once a reduction
    is saturated.

    The rest of the loop is then emitted without that reduction. ``synchronized`` gives the
    positions of steppers at ``reached``, with the values that they must have for that. Gives
    whether anything was emitted: positions are then unknown after the loop. Code after it may
    still execute the reduction, which changes nothing, and finds ``reached`` at the region's
    stop where the rest is done.
    """
    saturating = list(_saturating(ctx, region.body))
    for target, cond in saturating:
        cursors = dict(ctx.cursors)
        with ctx.if_(cond):
            rest = evolve(region, body=_without(ctx, region.body, target))
            if not is_empty(rest.body):
                _finish(ctx, rest, reached, synchronized or {})
            ctx.break_()
        ctx.cursors = cursors
    return bool(saturating)


def may_end_early(ctx: Context, region: Region) -> bool:
    """Whether ``end_early`` emits anything."""
    return any(True for _found in _saturating(ctx, region.body))


def _finish(ctx: Context, rest: Region, reached: Expr, synchronized: Mapping[Var, Expr]) -> None:
    """Emit the rest of the loop."""
    start = ctx.let(f"{rest.index.name}_start", reached)
    ctx.loop_cursors(rest.looplets.values())
    for position, value in synchronized.items():
        ctx.assign(position, value)
        ctx.cursors[position] = start
    with ctx.prover.assuming(rest.start <= start, start <= rest.stop):
        rest.between(start, rest.stop).lower(ctx)
    if isinstance(reached, Var) and not ctx.is_constant(reached):
        ctx.assign(reached, rest.stop)


def _saturating(ctx: Context, body: Stmt) -> Iterable[tuple[TensorLike, Expr]]:
    """The scalars that a loop reduces into and that can saturate, with the condition that they
    have."""
    declared = {part.tensor for part in body.walk() if isinstance(part, Declare)}
    reductions: dict[TensorLike, list[Update]] = {}
    for part in body.walk():
        if isinstance(part, Update) and not part.target.indices:
            reductions.setdefault(part.target.tensor, []).append(part)
    for target, updates in reductions.items():
        if target.root in declared or len({update.op for update in updates}) > 1:
            continue
        cond = _saturation(ctx, target, updates)
        if cond is not None and cond != FALSE:
            yield target, cond


def _saturation(ctx: Context, target: TensorLike, updates: list[Update]) -> Expr | None:
    """The condition under which updates by one operator have no further effect; None if there is
    none."""
    op, cond = updates[0].op, lift(True)
    if op is None:
        return None
    dtypes = (update_dtype(op, concrete(target.dtype), update.value) for update in updates)
    for dtype in dict.fromkeys(dtypes):
        found = None if dtype is None else target.settled(ctx, op, dtype)
        if found is None:
            return None
        cond = cond.and_(ctx.prover.decide(found))
    return cond


def _without(ctx: Context, body: Stmt, target: TensorLike) -> Stmt:
    """``body`` without its updates of ``target``."""

    def rule(stmt: Stmt) -> Stmt:
        return Sequential() if isinstance(stmt, Update) and stmt.target.tensor == target else stmt

    return ctx.simplify(rewrite_statements(body, rule))


def fixed_point(
    op: Operator, value: Expr, dtype: np.dtype[Any], *, exact: bool = False
) -> Expr | None:
    """The condition under which ``op`` in ``dtype`` gives ``value`` whatever the other operand is.

    None if there is none. Unless ``exact``, the annihilator of floats counts: a product that
    reaches zero stays zero, as when a fill is multiplied, though zero times NaN or infinity is
    NaN.
    """
    value = cast(value, dtype)
    if op.fixed_point is not None:
        return op.fixed_point(value)
    if op.annihilator is None or (exact and dtype.kind not in op.exact_annihilator):
        return None
    found = op.annihilator(dtype)
    return None if found is None else value.eq(Literal(found, dtype))


def inexact_fixed_point(op: Operator, held: Expr, value: Expr) -> Expr | None:
    """The condition under which ``held`` counts as final, though ``op`` with ``value`` might change
    it: a product of floats is zero. None if there is none."""
    dtype = update_dtype(op, concrete(held.dtype), value)
    if dtype is None or fixed_point(op, held, dtype, exact=True) is not None:
        return None
    return fixed_point(op, held, dtype)
