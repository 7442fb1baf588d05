"""Updates in place: those that stay within what a tensor stores. Its structure is walked and kept,
and values change.

    for i, j in _:                              for i, j in _:
        A[i, j] *= d[i]                             in_place(A)[i, j] *= d[i]
        if stored(B[i, j]):           ->            if stored(B)[i, j]:
            B[i, j] = x[j]                              in_place(B)[i, j] = x[j]

An update is in place if it does nothing where the element is not stored: under a condition that is
false there, or with a value that is the fill again. Both are found by putting the fill in place of
the element. A tensor whose updates in a statement are all in place is not thawed for it, so that
other elements can be read there; no other tensor is concerned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from finch_core.interface.abilities import Order
from finch_core.interface.tensorlike import BoundTensor
from finch_core.interface.views import InPlace, StoredView
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import FALSE, Access, Call, Expr, Literal, Name
from finch_core.ir.program import (
    Declare,
    Define,
    Freeze,
    Sequential,
    Sieve,
    Stmt,
    Thaw,
    Update,
)
from finch_core.ir.rewrite import rewrite_expr, rewrite_statements
from finch_core.lower.pass_state import Unit
from finch_core.records import evolve, frozen
from finch_core.symbolic.guards import as_condition
from finch_core.symbolic.outcomes import equals

Env = Mapping[Name, Expr]


def in_place(stmt: Stmt, unit: Unit) -> Stmt:
    """Mark the updates of ``stmt`` that are in place."""
    body = unit.program.body
    if not any(isinstance(part, Update) for part in body.walk()):
        return stmt
    own = {p.tensor for p in stmt.walk() if isinstance(p, (Declare, Freeze, Thaw))}
    marked = _InPlace(unit, frozenset(own)).block(stmt, {})
    return rewrite_statements(marked, lambda part: _scattered(part, unit))


def _scattered(part: Stmt, unit: Unit) -> Stmt:
    """An update that is not in place, without wrappers that take no other."""
    if isinstance(part, Update) and part.target in unit.scattered:
        return evolve(part, target=unit.scattered[part.target])
    return part


@frozen
class Found:
    """An update, the conditions under which it stands, and the values of names there."""

    update: Update
    conds: tuple[Expr, ...]
    env: Env


@frozen
class _InPlace:
    """``own`` are the tensors that the program declares, freezes or thaws: none is updated in
    place."""

    unit: Unit
    own: frozenset[BoundTensor]

    def block(self, stmt: Stmt, env: Env) -> Stmt:
        """A block; each of its statements is decided by itself."""
        if isinstance(stmt, Sequential):
            return stmt.rebuild((), tuple(self.block(part, env) for part in stmt.statements))
        if isinstance(stmt, Define):
            inner = {**env, stmt.name: stmt.value}
            return stmt.rebuild(stmt.exprs, (self.block(stmt.body, inner),))
        found = list(updates_in(stmt, (), env))
        updated = {one.update.target.tensor.root for one in found}
        kept = {root for root in updated if root is not None and self.may(root)}
        for one in found:
            root = one.update.target.tensor.root
            if root in kept and not self.stays(one, updated):
                kept.discard(root)
        return _marked(stmt, kept) if kept else stmt

    def may(self, root: BoundTensor) -> bool:
        """Whether updates in place of a tensor differ from those of a tensor that is thawed."""
        *levels, leaf = root.format.levels()
        everywhere = all(
            level.stores_fill and level.order is Order.ANY and level.thaws for level in levels
        )
        return not everywhere and leaf.holds_fill and root not in self.own and not root.local

    def stays(self, found: Found, updated: set[BoundTensor | None]) -> bool:
        """Whether an update does nothing where its element is not stored."""
        target = found.update.target
        if any(_root(node) in updated for index in target.indices for node in index.walk()):
            return False
        if any(_is_false(self.at_fill(cond, found)) for cond in found.conds):
            return True
        dtype = concrete(target.dtype)
        fill = Literal(target.tensor.fill_value, dtype, structural=True)
        value = self.at_fill(found.update.value, found)
        if found.update.op is not None:
            value = self.unit.simplifier.expr_rule(Call(found.update.op, (fill, value)))
        return equals(value, fill)

    def at_fill(self, expr: Expr, found: Found) -> Expr:
        """``expr`` where the element that is updated is not stored, simplified."""
        target, simplify = found.update.target, self.unit.simplifier.expr_rule
        fill = Literal(target.tensor.fill_value, concrete(target.dtype), structural=True)
        structure = evolve(target, tensor=StoredView(target.tensor))

        def rule(node: Expr) -> Expr:
            if node == target:
                return fill
            if node == structure:
                return FALSE
            if isinstance(node, Name) and node in found.env:
                return rewrite_expr(found.env[node], rule)
            simplified: Expr = simplify(node)
            return simplified

        return rewrite_expr(expr, rule)


def _is_false(cond: Expr) -> bool:
    return isinstance(cond, Literal) and not cond.value


def _root(node: Expr) -> BoundTensor | None:
    root: BoundTensor | None = node.tensor.root if isinstance(node, Access) else None
    return root


def updates_in(stmt: Stmt, conds: tuple[Expr, ...], env: Env) -> Iterator[Found]:
    """The updates in a statement."""
    if isinstance(stmt, Update):
        yield Found(stmt, conds, env)
    elif isinstance(stmt, Sieve):
        cond = as_condition(stmt.cond)
        yield from updates_in(stmt.body, (*conds, cond), env)
        yield from updates_in(stmt.orelse, (*conds, cond.not_()), env)
    else:
        if isinstance(stmt, Define):
            env = {**env, stmt.name: stmt.value}
        for body in stmt.bodies:
            yield from updates_in(body, conds, env)


def _marked(stmt: Stmt, kept: Iterable[BoundTensor | None]) -> Stmt:
    """``stmt`` with the updates of the tensors ``kept`` in place."""

    def rule(part: Stmt) -> Stmt:
        if not isinstance(part, Update) or part.target.tensor.root not in kept:
            return part
        target = evolve(part.target, tensor=InPlace(part.target.tensor))
        return evolve(part, target=target)

    return rewrite_statements(stmt, rule)


__all__ = ["Found", "in_place", "updates_in"]
