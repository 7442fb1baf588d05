"""Rule *Define*: the value of a ``let`` is computed once, where the program has it.

    v = A[~(i - 1)]      ->     v_present = 0 < i         (a value that may be missing)
                                v = A_val[i - 1] if v_present else 0

``missing`` has no memory, so that only what stands in its place is kept; reads of the name are
``v if v_present else missing``, which ``coalesce`` resolves.

Where the value was looked up, and is the fill if nothing is stored, the loops that then do nothing
run only where something is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Call, Expr, Literal, Load, Name, Var
from finch_core.ir.missing import Missing
from finch_core.ir.program import Define, Loop, Sieve, Stmt, While, has_loops
from finch_core.ir.rewrite import rewrite, rewrite_expr, substitute_name
from finch_core.looplets.region import is_empty
from finch_core.lower.contents import know_content
from finch_core.records import evolve
from finch_core.symbolic.dead_locals import NOTHING
from finch_core.symbolic.missing_values import may_be_missing, parted, presence

if TYPE_CHECKING:
    from finch_core.interface.context import Context


def is_plain(stmt: Define, value: Expr) -> bool:
    """Whether the ``value`` of a ``let`` is that of a variable, whatever follows."""
    if may_be_missing(value) or isinstance(value, Literal):
        return False
    decides = next(_lookups(value), None) is not None
    return not (decides and has_loops(stmt.body))


@contextmanager
def defining(ctx: Context, name: Name, value: Expr) -> Iterator[None]:
    """A context in which ``name`` stands for a variable that has ``value``.

    It is replaced in each statement that follows when that is emitted, together with others: one
    name after another would be quadratic in their number."""
    before, variable = ctx.definitions, _variable(ctx, name, value)
    ctx.definitions = {**before, name: variable}
    try:
        yield
    finally:
        ctx.definitions = before


@contextmanager
def named(ctx: Context, stmt: Stmt) -> Iterator[Stmt]:
    """``stmt`` with variables in the place of names, and a context in which there are no others."""
    before = ctx.definitions
    if before:
        stmt = ctx.simplify(rewrite(stmt, lambda expr: _known(before, expr)))
    ctx.definitions = {}
    try:
        yield stmt
    finally:
        ctx.definitions = before


def with_names(ctx: Context, expr: Expr) -> Expr:
    """An expression with variables in the place of names."""
    known = ctx.definitions
    if not known:
        return expr
    return ctx.simplify_expr(rewrite_expr(expr, lambda node: _known(known, node)))


def _known(known: dict[Name, Expr], expr: Expr) -> Expr:
    return known.get(expr, expr) if isinstance(expr, Name) else expr


def defined(ctx: Context, stmt: Define, value: Expr) -> Stmt:
    """The body of a ``let`` with its ``value``, which has been evaluated, in a variable."""
    body = stmt.body
    if not may_be_missing(value) and not isinstance(value, Literal):
        if has_loops(body):
            body, value = _loops_where_stored(ctx, stmt, value)
        value = _variable(ctx, stmt.name, value)
    elif may_be_missing(value) and not isinstance(value, Missing):
        present, number = parted(value)
        present = _unchanging(ctx, f"{stmt.name.name}_present", present)
        value = ctx.ifelse(present, _variable(ctx, stmt.name, number), Missing(value.dtype))
    return ctx.simplify(substitute_name(body, stmt.name, value))


def _variable(ctx: Context, name: Name, value: Expr) -> Expr:
    variable = ctx.let(name.name, value, concrete(name.dtype))
    know_content(ctx, value, variable)
    return variable


def _unchanging(ctx: Context, name: str, cond: Expr) -> Expr:
    """``cond``, in a variable unless it is made of what never changes."""
    atoms = [part for part in cond.walk() if isinstance(part, (Var, Load))]
    return cond if all(map(ctx.is_constant, atoms)) else ctx.let(name, cond)


def _loops_where_stored(ctx: Context, stmt: Define, value: Expr) -> tuple[Stmt, Expr]:
    """The body and the value: each loop of the body that does nothing where a look-up in the value
    gives the fill runs under the condition that it gives another."""
    body = stmt.body
    for lookup, fill in _lookups(value):
        absent = Define(stmt.name, _replaced(value, lookup, fill), NOTHING)
        present = presence(lookup, lambda e: isinstance(e, Literal))
        loops = _loops_of_nothing(ctx, body, absent)
        if loops:
            present = _unchanging(ctx, f"{stmt.name.name}_stored", present)
            body = _under(body, present, loops)
    return body, value


def _lookups(value: Expr) -> Iterator[tuple[Expr, Literal]]:
    """The outermost choices in ``value`` that give what is stored, or a fill; with the fill."""
    if isinstance(value, Call) and value.op is prim.ifelse:
        fills = {leaf for leaf in _leaves(value) if isinstance(leaf, Literal)}
        if len(fills) == 1 and all(fill.structural for fill in fills):
            yield value, fills.pop()
        return
    for child in value.children:
        yield from _lookups(child)


def _leaves(value: Expr) -> Iterator[Expr]:
    """The values among which a choice chooses."""
    if isinstance(value, Call) and value.op is prim.ifelse:
        for arg in value.args[1:]:
            yield from _leaves(arg)
    else:
        yield value


def _replaced(value: Expr, old: Expr, new: Expr) -> Expr:
    return rewrite_expr(value, lambda expr: new if expr == old else expr)


def _loops_of_nothing(ctx: Context, stmt: Stmt, absent: Define) -> list[Stmt]:
    """The outermost loops that do nothing with the value of ``absent``."""
    is_loop = isinstance(stmt, (Loop, While))
    if is_loop and is_empty(ctx.simplify(evolve(absent, body=stmt))):
        return [stmt]
    return [loop for body in stmt.bodies for loop in _loops_of_nothing(ctx, body, absent)]


def _under(stmt: Stmt, cond: Expr, loops: list[Stmt]) -> Stmt:
    """``stmt`` with some of its loops under a condition."""
    if any(stmt is loop for loop in loops):
        return Sieve(cond, stmt, span=stmt.span)
    bodies = tuple(_under(body, cond, loops) for body in stmt.bodies)
    same = all(new is old for new, old in zip(bodies, stmt.bodies, strict=True))
    return stmt if same else stmt.rebuild(stmt.exprs, bodies)


__all__ = ["defined"]
