"""Rewriting of programs: traversals that keep unchanged nodes identical."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_not
from typing import Any

from finch_core.ir.expressions import Access, Expr, Index, Name
from finch_core.ir.kept import kept
from finch_core.ir.program import Define, Stmt, Update
from finch_core.records import evolve

ExprRule = Callable[[Expr], Expr]
Affected = Callable[[Any], bool]
"""Whether a rule changes anything in a statement or expression."""


def rewrite_expr(expr: Expr, rule: ExprRule, affected: Affected | None = None) -> Expr:
    """``expr`` with ``rule`` applied to every node in postorder, to each once; parts that are not
    ``affected`` are passed over."""
    if affected is not None and not affected(expr):
        return expr
    children = expr.children
    if children:
        changed = tuple([rewrite_expr(child, rule, affected) for child in children])
        if any(map(is_not, changed, children)):
            expr = expr.rebuild(changed)
            if any(expr is part for part in changed):  # a cast that changes nothing is its operand
                return expr
    return rule(expr)


def replaced(expr: Expr, meanings: Mapping[Expr, Expr]) -> Expr:
    """``expr`` with other expressions in place of the largest parts that are keys."""
    if expr in meanings:
        return meanings[expr]
    return expr.rebuild(tuple(replaced(child, meanings) for child in expr.children))


def rewrite(
    stmt: Stmt,
    rule: ExprRule,
    target_rule: ExprRule | None = None,
    affected: Affected | None = None,
) -> Stmt:
    """``stmt`` with ``rule`` applied to every node of its expressions; parts that are not
    ``affected`` are passed over.

    ``target_rule`` is applied to targets of updates instead (``rule`` still to their indices).
    """
    if affected is not None and not affected(stmt):
        return stmt
    exprs = stmt.exprs
    if isinstance(stmt, Update):
        target = _target(stmt.target, rule, target_rule or rule, affected)
        new = (target, rewrite_expr(stmt.value, rule, affected))
    else:
        new = tuple([rewrite_expr(expr, rule, affected) for expr in exprs])  # type: ignore[assignment]
    bodies = stmt.bodies
    parts = tuple([rewrite(body, rule, target_rule, affected) for body in bodies])
    same = not any(map(is_not, new, exprs)) and not any(map(is_not, parts, bodies))
    return stmt if same else stmt.rebuild(new, parts)


def _target(
    target: Access, rule: ExprRule, target_rule: ExprRule, affected: Affected | None
) -> Expr:
    indices = tuple([rewrite_expr(index, rule, affected) for index in target.indices])
    if any(map(is_not, indices, target.indices)):
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

    def placed(expr: Expr) -> Expr:
        return value if isinstance(expr, Index) and expr == index else expr

    return rewrite(stmt, placed, affected=lambda node: index in indices_in(node))


@kept("_indices")
def indices_in(node: Stmt | Expr) -> frozenset[Index]:
    """The indices that occur in a statement or expression."""
    if isinstance(node, Index):
        return frozenset((node,))
    parts: tuple[Stmt | Expr, ...] = node.children if isinstance(node, Expr) else ()
    if isinstance(node, Stmt):
        parts = (*node.exprs, *node.bodies)
    return frozenset().union(*map(indices_in, parts))


def substitute_name(stmt: Stmt, name: Name, value: Expr) -> Stmt:
    """``stmt`` with a ``let`` variable replaced by ``value`` (names are unique by then)."""
    return rewrite(stmt, lambda expr: value if expr == name else expr)


def defined_names(stmt: Stmt) -> set[str]:
    """The names that ``let`` binds in ``stmt``."""
    return {part.name.name for part in stmt.walk() if isinstance(part, Define)}
