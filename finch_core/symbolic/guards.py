"""Evaluation conditions: when each part of an expression is evaluated, as some operators are
lazy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import TRUE, Access, Call, Expr
from finch_core.ir.program import Stmt, Update

Guarded = tuple[Expr, Access, bool]
"""An access, the condition under which it is evaluated, and whether it is written."""

Node = TypeVar("Node", bound=Expr)


def as_condition(value: Expr) -> Expr:
    """``value`` as a bool."""
    return value if concrete(value.dtype).kind == "b" else value.ne(0)


def accesses(stmt: Stmt) -> Iterator[Guarded]:
    """The accesses of a statement, each with the condition under which it is evaluated.

    Conditions of nested statements are not included: their code is emitted under them.
    """
    for part in stmt.walk():
        target = part.target if isinstance(part, Update) else None
        for expr in part.exprs:
            for guard, access in guarded(expr, TRUE, Access):
                yield guard, access, access is target


def guarded(expr: Expr, guard: Expr, kind: type[Node]) -> Iterator[tuple[Expr, Node]]:
    """The nodes of a kind, each with the condition under which it is evaluated."""
    if isinstance(expr, kind):
        yield guard, expr
    if isinstance(expr, Call) and expr.op in LAZY and len(expr.args) > 1:
        first, *rest = expr.args
        yield from guarded(first, guard, kind)
        for arg, needed in zip(rest, LAZY[expr.op](first), strict=True):
            yield from guarded(arg, needed if guard is TRUE else guard.and_(needed), kind)
        return
    for child in expr.children:
        yield from guarded(child, guard, kind)


LAZY: dict[Any, Callable[[Expr], tuple[Expr, ...]]] = {
    prim.and_: lambda cond: (cond,),
    prim.or_: lambda cond: (cond.not_(),),
    prim.ifelse: lambda cond: (cond, cond.not_()),
}


def _is_either(cond: Expr) -> bool:
    return isinstance(cond, Call) and cond.op is prim.or_


def conjuncts(cond: Expr) -> Iterator[Expr]:
    """The conjuncts of a condition."""
    if isinstance(cond, Call) and cond.op is prim.and_:
        for arg in cond.args:
            yield from conjuncts(arg)
    elif isinstance(cond, Call) and cond.op is prim.not_ and _is_either(cond.args[0]):
        for arg in cond.args[0].children:
            yield from conjuncts(as_condition(arg).not_())
    elif cond is not TRUE:
        yield cond
