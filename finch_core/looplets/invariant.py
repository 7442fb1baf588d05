"""Loops in which nothing varies: reductions of one value become products, powers, or one update
(paper, "Runs": ``for i = 1:n; s += x end`` is ``s += n * x``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from finch_core.dtypes import concrete
from finch_core.expressions import Access, Expr, call, cast
from finch_core.looplets.lookup import each_index
from finch_core.looplets.region import Region, Slot
from finch_core.notation import Declare, Freeze, Stmt, Thaw, Update
from finch_core.rewrite import mentions

if TYPE_CHECKING:
    from finch_core.context import Context


def lower_invariant(ctx: Context, region: Region, accepting: frozenset[int]) -> None:
    """Emit a region whose only looplets are the accepting runs in slots ``accepting``."""
    if mentions(region.body, region.index, beside_slots=True):
        each_index(ctx, region)
    elif region.is_point(ctx):
        _once(ctx, region, region.body)
    else:
        count = region.stop - region.start
        body = repeated(region.body, count, accepting, strict=ctx.strict)
        if body is None:
            each_index(ctx, region)
        else:
            ctx.fork(region.start < region.stop, lambda: _once(ctx, region, ctx.simplify(body)))


def _once(ctx: Context, region: Region, body: Stmt) -> None:
    """Run the body once, with the accepting runs taking the whole region."""
    if not region.looplets:
        ctx.lower(body)
        return
    looplets = {k: run.over(ctx, region.start, region.stop) for k, run in region.looplets.items()}  # type: ignore[attr-defined]
    point = region.between(region.start, region.start + 1)
    attrs.evolve(point, body=body, looplets=looplets).lower(ctx)


def repeated(stmt: Stmt, count: Expr, accepting: frozenset[int], *, strict: bool) -> Stmt | None:
    """A statement that does at once what ``stmt`` does ``count > 0`` times, or None."""
    if isinstance(stmt, Update):
        return _repeated_update(stmt, count, accepting, strict)
    if isinstance(stmt, (Declare, Freeze, Thaw)):
        return None
    bodies = []
    for body in stmt.bodies:
        again = repeated(body, count, accepting, strict=strict)
        if again is None:
            return None
        bodies.append(again)
    return stmt.rebuild(stmt.exprs, tuple(bodies))


def _repeated_update(
    stmt: Update, count: Expr, accepting: frozenset[int], strict: bool
) -> Stmt | None:
    target, op = stmt.target, stmt.op
    if _is_slot(target, accepting) or op is None or op.idempotent:
        return stmt
    dtype = concrete(target.dtype)
    if op.repeated is None or dtype.kind not in "iuf" or (strict and dtype.kind == "f"):
        return None
    value = call(op.repeated, cast(stmt.value, dtype), cast(count, dtype))
    return attrs.evolve(stmt, value=value)


def _is_slot(target: Access, accepting: frozenset[int]) -> bool:
    return isinstance(target.tensor, Slot) and target.tensor.number in accepting
