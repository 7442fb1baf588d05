"""Constant propagation: where a variable is known to hold a constant, its reads are that constant.

    for i in _:                                   where x stores nothing:
        t = x[i]                                      t = 0.0
        if t > 1:                     ->              if 0.0 > 1:
            t = 1.0                                       t = 1.0
        s += t                                        s += 0.0

A looplet puts a fill in the place of ``x[i]``; the other rules then eliminate the condition, the
update and the variable, so that only what is stored is visited.

The analysis is the forward one of textbooks, along the statements of a block: both ways of a
condition meet, and what a loop updates is not known in it. Indices and ranges are left as they are:
whether they are within bounds is proved, or checked, of the program as it was before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Access, Call, Expr, Literal, cast
from finch_core.ir.program import (
    Declare,
    Define,
    Freeze,
    Labelled,
    Leave,
    Loop,
    Sequential,
    Sieve,
    Stmt,
    Swap,
    Thaw,
    Update,
    While,
)

_OPEN = (
    Declare, Define, Freeze, Labelled, Leave, Loop, Sequential, Sieve, Swap, Thaw, Update, While,
)  # fmt: skip
"""Statements whose substatements are their bodies."""

Known = dict[Any, Expr]
"""The constants that variables hold, by the variable's tensor."""


def constant_variables(stmt: Sequential, simplify: Callable[[Expr], Expr]) -> Stmt | None:
    """A block in which the reads of variables that hold a constant are that constant; None if
    there are none. ``simplify`` simplifies an expression."""
    if not any(map(_begins, stmt.statements)):
        return None
    new, _ = Propagation(simplify).statement(stmt, {})
    return None if new is stmt else new


def _begins(stmt: Stmt) -> bool:
    """Whether a variable is set to a constant by a statement."""
    if isinstance(stmt, Declare):
        return isinstance(stmt.init, Literal) and stmt.tensor.format.is_variable
    if isinstance(stmt, Update):
        return isinstance(stmt.value, Literal) and _variable(stmt.target) is not None
    return False


def _variable(access: Access) -> Any:
    """The variable that an access is of; None for other tensors."""
    tensor = access.tensor.root
    return tensor if tensor is not None and tensor.format.is_variable else None


class Propagation:
    """Gives statements with constants in the place of variables, and what is known after them:
    None after a statement that ends the way."""

    def __init__(self, simplify: Callable[[Expr], Expr]) -> None:
        self.simplify = simplify

    def statement(self, stmt: Stmt, known: Known) -> tuple[Stmt, Known | None]:
        if isinstance(stmt, Sequential):
            return self.block(stmt, known)
        if isinstance(stmt, Update):
            return self.update(stmt, known)
        if isinstance(stmt, Sieve):
            return self.sieve(stmt, known)
        if isinstance(stmt, Define):
            value = self.value(stmt.value, known)
            body, after = self.statement(stmt.body, known)
            return _rebuilt(stmt, (value,), (body,)), after
        if isinstance(stmt, (Loop, While)):
            return self.loop(stmt, known)
        if isinstance(stmt, Labelled):
            body, _ = self.statement(stmt.body, known)
            return _rebuilt(stmt, (), (body,)), _without(known, stmt)
        if isinstance(stmt, Leave):
            return stmt, None
        if isinstance(stmt, Declare) and stmt.tensor.format.is_variable:
            return stmt, self.holding(known, stmt.tensor, self.value(stmt.init, known))
        return stmt, _without(known, stmt)

    def block(self, stmt: Sequential, known: Known) -> tuple[Stmt, Known | None]:
        parts: list[Stmt] = []
        after: Known | None = known
        for part in stmt.statements:
            if after is not None:
                part, after = self.statement(part, after)
            parts.append(part)
        return _rebuilt(stmt, (), tuple(parts)), after

    def update(self, stmt: Update, known: Known) -> tuple[Stmt, Known]:
        value = self.value(stmt.value, known)
        new = _rebuilt(stmt, (stmt.target, value), ())
        tensor = _variable(stmt.target)
        if tensor is None:
            return new, known
        if stmt.op is not None:
            held = known.get(tensor)
            if held is None:
                return new, known
            value = self.simplify(Call(stmt.op, (held, value)))
        return new, self.holding(known, tensor, value)

    def sieve(self, stmt: Sieve, known: Known) -> tuple[Stmt, Known | None]:
        cond = self.value(stmt.cond, known)
        body, yes = self.statement(stmt.body, known)
        orelse, no = self.statement(stmt.orelse, known)
        if isinstance(cond, Literal):
            yes, no = (yes, None) if cond.value else (None, no)
        return _rebuilt(stmt, (cond,), (body, orelse)), _met(yes, no)

    def loop(self, stmt: Loop | While, known: Known) -> tuple[Stmt, Known]:
        """A loop: a variable that it updates is not known in it, unless it has no turn."""
        inside = _without(known, stmt)
        exprs = stmt.exprs
        if isinstance(stmt, While):
            first = self.value(stmt.cond, known)
            if isinstance(first, Literal) and not first.value:
                return Sequential(span=stmt.span), known
            exprs = (self.value(stmt.cond, inside),)
        body, _ = self.statement(stmt.body, inside)
        return _rebuilt(stmt, exprs, (body,)), inside

    def holds(self, value: Expr) -> bool:
        """Whether what is known may be ``value``."""
        return isinstance(value, Literal)

    def holding(self, known: Known, tensor: Any, value: Expr) -> Known:
        """What is known once a variable holds a value."""
        number = cast(value, concrete(tensor.format.dtype))
        found = {key: held for key, held in known.items() if key is not tensor}
        if self.holds(number):
            found[tensor] = number
        return found

    def value(self, expr: Expr, known: Known) -> Expr:
        """``expr`` with constants in the place of variables, outside of indices."""
        if not known:
            return expr
        new = _substituted(expr, known)
        return expr if new is expr else self.simplify(new)


def _substituted(expr: Expr, known: Known) -> Expr:
    if isinstance(expr, Access):
        return expr if expr.indices else known.get(expr.tensor.root, expr)
    children = expr.children
    new = tuple([_substituted(child, known) for child in children])
    same = all(a is b for a, b in zip(new, children, strict=True))
    return expr if same else expr.rebuild(new)


def _rebuilt(stmt: Stmt, exprs: tuple[Expr, ...], bodies: tuple[Stmt, ...]) -> Stmt:
    old = (*stmt.exprs, *stmt.bodies) if exprs else stmt.bodies
    if all(a is b for a, b in zip((*exprs, *bodies), old, strict=True)):
        return stmt
    return stmt.rebuild(exprs or stmt.exprs, bodies)


def _without(known: Known, stmt: Stmt) -> Known:
    """What is known, but for the variables that a statement may set: nothing after one that has
    others in another way than as its bodies."""
    if not known:
        return known
    changed: set[Any] = set()
    for part in stmt.walk():
        if not isinstance(part, _OPEN):
            return {}
        if isinstance(part, Update):
            changed.add(part.target.tensor.root)
        elif isinstance(part, Declare):
            changed.add(part.tensor)
        elif isinstance(part, Swap):
            changed |= {part.first, part.second}
    return {key: held for key, held in known.items() if key not in changed}


def _met(one: Known | None, other: Known | None) -> Known | None:
    """What is known where two ways meet."""
    if one is None or other is None:
        return other if one is None else one
    return {key: held for key, held in one.items() if other.get(key) == held}


__all__ = ["Known", "Propagation", "constant_variables"]
