"""Bounds of gathers, scatters and ranges that are only known while a program runs.

    for i in _: y[i] += x[I[i]]       ->     if at < 0 or at >= x_n0: fail
    for q in range(ptr[i], ptr[i + 1])       before the loop, unless it is empty

A loop over a whole dimension, or over a range that was checked before the program ran, has nothing
checked here: ``Context.fitting`` has it. Where an access stands in an expression that is only
evaluated under a condition, so does its check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from finch_core import primitives as prim
from finch_core.errors import OutOfBounds
from finch_core.expressions import TRUE, Access, Call, Expr
from finch_core.notation import Extent, Loop, Stmt, Update
from finch_core.prover import split

if TYPE_CHECKING:
    from finch_core.context import Context

Guarded = tuple[Expr, Access, bool]
"""An access, the condition under which it is evaluated, and whether it is written."""


_READING = "A[~i] takes an index that may be out of bounds, and is missing there"
_WRITING = "write under a condition, as in: if 0 <= i and i < n"


def check_bounds(ctx: Context, loop: Loop, start: Expr, stop: Expr) -> None:
    """Emit the checks that ``start`` up to ``stop`` lies within what the loop's index accesses."""
    from finch_core.lowering import leading

    done = set()
    for guard, access, written in accesses(loop.body):
        lead = leading(access)
        if access.indices[lead : lead + 1] != (loop.index,):
            continue
        extent = access.tensor.dims[lead]
        if extent is None or (loop.index, extent) in ctx.fitting or (guard, extent) in done:
            continue
        done.add((guard, extent))
        hint = _WRITING if written else _READING
        _under(ctx, guard, access, extent, start, stop, hint)


def _under(
    ctx: Context, guard: Expr, access: Access, extent: Extent, start: Expr, stop: Expr, hint: str
) -> None:
    from finch_core.lowering import as_condition, evaluate

    known = [as_condition(evaluate(ctx, c)) for c in _conjuncts(guard) if _evaluable(c)]
    if not known:
        _check(ctx, access, extent, start, stop, hint)
        return
    cond = known[0]
    for other in known[1:]:
        cond = cond.and_(other)
    with ctx.if_(cond), ctx.prover.assuming(cond):
        _check(ctx, access, extent, start, stop, hint)


def is_unit(extent: Extent) -> bool:
    """Whether a range is one index long, whatever its start is."""
    (atom, offset), (other, end) = split(extent.start), split(extent.stop)
    return atom == other and end == offset + 1


def _check(
    ctx: Context, access: Access, extent: Extent, start: Expr, stop: Expr, hint: str
) -> None:
    lower, upper = extent.start, extent.stop
    what = _dimension(access)
    if is_unit(Extent(start, stop)):
        inside = _both(ctx, lower <= start, start < upper)
        message = f"index {{0}} is out of bounds for {what} of size {{1}}"
        ctx.require(inside, OutOfBounds, message, start, upper, span=access.span, hint=hint)
        return
    with ctx.prover.assuming(start < stop):
        inside = _both(ctx, lower <= start, stop <= upper)
    message = f"range({{0}}, {{1}}) is not within {what} of size {{2}}"
    ctx.require(
        (stop <= start).or_(inside),
        OutOfBounds, message, start, stop, upper, span=access.span, hint=hint,
    )  # fmt: skip


def _dimension(access: Access) -> str:
    root = access.tensor.root
    if root is None:
        return f"a dimension of {access.tensor}"
    return f"dimension {root.fiber.ndim - len(access.indices)} of {root}"


def _both(ctx: Context, *conds: Expr) -> Expr:
    """All of the conditions, without those that are known."""
    result: Expr = TRUE
    for cond in map(ctx.prover.decide, conds):
        result = cond if result is TRUE else result.and_(cond)
    return result


# -- conditions -----------------------------------------------------------------------------


def accesses(stmt: Stmt) -> Iterator[Guarded]:
    """The accesses of a statement, each with what has to hold where it is evaluated.

    The conditions of statements inside are not told: code for those is emitted under them.
    """
    for part in stmt.walk():
        target = part.target if isinstance(part, Update) else None
        for expr in part.exprs:
            for guard, access in _accesses(expr, TRUE):
                yield guard, access, access is target


def _accesses(expr: Expr, guard: Expr) -> Iterator[tuple[Expr, Access]]:
    if isinstance(expr, Access):
        yield guard, expr
    if isinstance(expr, Call) and expr.op in _LAZY and len(expr.args) > 1:
        first, *rest = expr.args
        yield from _accesses(first, guard)
        for arg, needed in zip(rest, _LAZY[expr.op](first), strict=True):
            yield from _accesses(arg, needed if guard is TRUE else guard.and_(needed))
        return
    for child in expr.children:
        yield from _accesses(child, guard)


_LAZY: dict[Any, Callable[[Expr], tuple[Expr, ...]]] = {
    prim.and_: lambda cond: (cond,),
    prim.or_: lambda cond: (cond.not_(),),
    prim.ifelse: lambda cond: (cond, cond.not_()),
}


def _conjuncts(cond: Expr) -> Iterator[Expr]:
    """What must all hold for a condition to hold."""
    if isinstance(cond, Call) and cond.op is prim.and_:
        for arg in cond.args:
            yield from _conjuncts(arg)
    elif cond is not TRUE:
        yield cond


def _evaluable(expr: Expr) -> bool:
    """Whether the loops of all accesses of an expression have been lowered."""
    return not any(isinstance(node, Access) and node.indices for node in expr.walk())
