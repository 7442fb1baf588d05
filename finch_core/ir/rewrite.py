"""Rewriting of programs: traversals that keep unchanged nodes identical."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from finch_core.ir.expressions import Access, Expr, Index, Name
from finch_core.ir.program import Define, Stmt, Update
from finch_core.records import evolve

if TYPE_CHECKING:
    pass

ExprRule = Callable[[Expr], Expr]


def rewrite_expr(expr: Expr, rule: ExprRule) -> Expr:
    """``expr`` with ``rule`` applied to every node in postorder."""
    children = expr.children
    if children:
        changed = tuple([rewrite_expr(child, rule) for child in children])
        if any(new is not old for new, old in zip(changed, children, strict=True)):
            expr = expr.rebuild(changed)
    return rule(expr)


def rewrite(stmt: Stmt, rule: ExprRule, target_rule: ExprRule | None = None) -> Stmt:
    """``stmt`` with ``rule`` applied to every node of its expressions.

    ``target_rule`` is applied to targets of updates instead (``rule`` still to their indices).
    """
    exprs = stmt.exprs
    if isinstance(stmt, Update):
        new = (_target(stmt.target, rule, target_rule or rule), rewrite_expr(stmt.value, rule))
    else:
        new = tuple([rewrite_expr(expr, rule) for expr in exprs])  # type: ignore[assignment]
    bodies = stmt.bodies
    parts = tuple([rewrite(body, rule, target_rule) for body in bodies])
    same = all(a is b for a, b in zip((*new, *parts), (*exprs, *bodies), strict=True))
    return stmt if same else stmt.rebuild(new, parts)


def _target(target: Access, rule: ExprRule, target_rule: ExprRule) -> Expr:
    indices = tuple([rewrite_expr(index, rule) for index in target.indices])
    if any(new is not old for new, old in zip(indices, target.indices, strict=True)):
        target = evolve(target, indices=indices)
    return target_rule(target)


def rewrite_statements(stmt: Stmt, rule: Callable[[Stmt], Stmt]) -> Stmt:
    """``stmt`` with ``rule`` applied to every statement in postorder."""
    bodies = stmt.bodies
    if bodies:
        parts = tuple([rewrite_statements(body, rule) for body in bodies])
        if any(a is not b for a, b in zip(parts, bodies, strict=True)):
            stmt = stmt.rebuild(stmt.exprs, parts)
    return rule(stmt)


def substitute_index(stmt: Stmt, index: Index, value: Expr) -> Stmt:
    """``stmt`` with a loop index replaced by ``value``."""
    return rewrite(stmt, lambda expr: value if expr == index else expr)


def substitute_name(stmt: Stmt, name: Name, value: Expr) -> Stmt:
    """``stmt`` with a ``let`` variable replaced by ``value`` (names are unique by then)."""
    return rewrite(stmt, lambda expr: value if expr == name else expr)


def defined_names(stmt: Stmt) -> set[str]:
    """The names that ``let`` binds in ``stmt``."""
    return {part.name.name for part in stmt.walk() if isinstance(part, Define)}
