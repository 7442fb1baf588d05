"""Later turns: what is left of a turn where each turn finds variables as the one before left them.

    for i in range(n):                 if v != last:
        if v != last:                      runs += 1
            runs += 1            ->    last = v
        last = v                       # later turns find last == v, and do nothing

A variable that each turn leaves with a value that no turn changes has that value when a later turn
begins, whatever it was before the first. In its place the other rules eliminate conditions,
assignments that change nothing, and often all of the turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from finch_core.ir.arithmetic import Cast
from finch_core.ir.expressions import Access, Call, Expr, Literal, Load, Var
from finch_core.ir.program import Define, Loop, Sequential, Sieve, Stmt, Update
from finch_core.ir.rewrite import substitute_name
from finch_core.symbolic.constant_variables import Known, Propagation


def later_turns(stmt: Stmt, simplify: Callable[[Expr], Expr]) -> Stmt | None:
    """What a turn ``stmt`` does after another one; None where they do not differ.

    ``simplify`` simplifies an expression.
    """
    changed: set[Any] = set()
    for part in stmt.walk():
        if isinstance(part, Update):
            changed.add(part.target.tensor.root)
        elif not isinstance(part, (Define, Loop, Sequential, Sieve)):
            return None
    if None in changed or not any(tensor.format.is_variable for tensor in changed):
        return None
    invariants = _Invariants(simplify, changed)
    stmt = _inlined(stmt, invariants)
    _, left = invariants.statement(stmt, {})
    if not left:
        return None
    again, _ = invariants.statement(stmt, left)
    return again


def _inlined(stmt: Stmt, invariants: _Invariants) -> Stmt:
    """``stmt`` with the values of names that are the same in each turn in their place."""
    if isinstance(stmt, Define):
        body = _inlined(stmt.body, invariants)
        if invariants.holds(stmt.value):
            return _inlined(substitute_name(body, stmt.name, stmt.value), invariants)
        return stmt.rebuild(stmt.exprs, (body,))
    if not stmt.bodies:
        return stmt
    return stmt.rebuild(stmt.exprs, tuple(_inlined(body, invariants) for body in stmt.bodies))


class _Invariants(Propagation):
    """Propagates values that no turn changes, and removes assignments of what a variable holds."""

    def __init__(self, simplify: Callable[[Expr], Expr], changed: set[Any]) -> None:
        super().__init__(simplify)
        self._changed = {source for tensor in changed for source in (tensor, *_parts(tensor))}

    def holding(self, known: Known, tensor: Any, value: Expr) -> Known:
        # what a turn leaves is a number like others for the next one, also where it was a fill
        if isinstance(value, Literal):
            value = Literal(value.value, value.type)
        return super().holding(known, tensor, value)

    def holds(self, value: Expr) -> bool:
        return all(map(self._same, value.walk()))

    def _same(self, node: Expr) -> bool:
        if isinstance(node, Access):
            return not node.indices and node.tensor.root not in self._changed
        if isinstance(node, Load):
            return node.buffer not in self._changed
        if isinstance(node, Var):
            return node not in self._changed
        return isinstance(node, (Literal, Call, Cast))

    def update(self, stmt: Update, known: Known) -> tuple[Stmt, Known]:
        new, after = super().update(stmt, known)
        tensor = stmt.target.tensor.root
        held = known.get(tensor)
        if stmt.op is None and held is not None and after.get(tensor) == held:
            return Sequential(span=stmt.span), after
        return new, after


def _parts(tensor: Any) -> tuple[Any, ...]:
    return tuple(tensor.parts)


__all__ = ["later_turns"]
