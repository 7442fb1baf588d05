"""Loop-invariant values: what C compilers do not move before a loop, since it branches.

    for j in range(start, stop):              if start < stop:
        out[j] = uint8(a * x[p] + b)   ->         value: uint8 = uint8(a * x[p] + b)
                                                  for j in range(start, stop):
                                                      out[j] = value

They move sums and products by themselves. A conversion of a float to an integer, a remainder, a
minimum of floats and the like are code with branches, of which each turn would have its own. Where
the loop runs, each turn evaluates the value; so what it loads is there.
"""

from __future__ import annotations

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Assign, Block, For, If, Let, Statement, Store, contains
from finch_core.ir.assembly_rewrite import (
    Substitution,
    changed_names,
    is_lazy,
    leaves,
    read_names,
    redeclared_names,
    with_blocks,
    with_children,
    with_expressions,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Call, Cast, Expr, Invoke, Literal, Var

_CHOICES = (prim.minimum_, prim.maximum_, prim.minimum, prim.maximum, prim.ifelse)
"""Operators that C compilers know on integers, and that branch on floats."""


def invariant_values(block: Block, names: Names) -> Block:
    """``block`` with invariant values that branch evaluated once, before their loops."""
    if not contains(block, For):
        return block
    return _Values(names, redeclared_names(block)).block(block)


class _Values:
    def __init__(self, names: Names, redeclared: frozenset[str]) -> None:
        self._names = names
        self._redeclared = redeclared

    def block(self, block: Block) -> Block:
        if not contains(block, For):
            return block
        done: list[Statement] = []
        for statement in block.statements:
            new = with_blocks(statement, tuple(map(self.block, statement.blocks)))
            done.append(self._loop(new) if isinstance(new, For) else new)
        return with_statements(block, done)

    def _loop(self, loop: For) -> Statement:
        """``loop``, or a test that it runs around its invariant values and the rest of it."""
        if loop.loose or not any(map(_may_branch, loop.body.statements)):
            return loop
        changed = changed_names(loop)
        before: list[Let] = []
        rest: list[Statement] = []
        for k, statement in enumerate(loop.body.statements):
            if self._moves(statement, changed):
                assert isinstance(statement, Let)
                before.append(statement)
                changed.discard(statement.var.name)
            else:
                rest.append(self._without(statement, changed, before))
            if leaves(statement):
                rest += loop.body.statements[k + 1 :]
                break
        if not any(map(_may_branch, before)):
            return loop
        shorter = with_blocks(loop, (Block(tuple(rest)),))
        return If(loop.start < loop.stop, Block((*before, shorter)))

    def _moves(self, statement: Statement, changed: set[str]) -> bool:
        return (
            isinstance(statement, Let)
            and not statement.mutable
            and statement.var.name not in self._redeclared
            and _is_invariant(statement.value, changed)
        )

    def _without(self, statement: Statement, changed: set[str], before: list[Let]) -> Statement:
        """``statement`` with variables in the place of invariant values that branch, which are
        added to ``before``."""
        if not _may_branch(statement):
            return statement

        def named(expr: Expr) -> Expr | None:
            if not _branches(expr):
                return expr
            if not _is_invariant(expr, changed):
                # operands that a turn may skip may load what is not there
                first, *others = expr.children
                return with_children(expr, (replace(first), *others)) if is_lazy(expr) else None
            found = next((let.var for let in before if let.value == expr), None)
            if found is None:
                found = Var(self._names.fresh("value"), concrete(expr.dtype))
                before.append(Let(found, expr))
            return found

        replace = Substitution(named)
        *places, value = statement.expressions
        return with_expressions(statement, (*places, replace(value)))


def _is_invariant(expr: Expr, changed: set[str]) -> bool:
    if read_names(expr) & changed:
        return False
    return not any(isinstance(part, Invoke) for part in expr.walk())


def _may_branch(statement: Statement) -> bool:
    return isinstance(statement, (Let, Assign, Store)) and _branches(statement.expressions[-1])


def _branches(expr: Expr) -> bool:
    """Whether ``expr`` has a part that is code with branches, or a call."""
    return any(map(_is_branch, expr.walk()))


def _is_branch(expr: Expr) -> bool:
    if isinstance(expr, Cast):
        return _is_float(expr.value) and concrete(expr.type).kind in "iu"
    if not isinstance(expr, Call):
        return False
    if expr.op in _CHOICES:
        return _is_float(expr)
    return expr.op.costly and expr.op is not prim.truediv


def _is_float(expr: Expr) -> bool:
    return not isinstance(expr, Literal) and concrete(expr.dtype).kind == "f"


__all__ = ["invariant_values"]
