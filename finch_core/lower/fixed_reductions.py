"""Reductions of a parallel loop into one element go through a variable.

    for i in _:                            for i in _:
        for j in parallel(_):                  t = 0
            y[i] += A[i, j] * x[j]    ->       for j in parallel(_):
                                                   t += A[i, j] * x[j]
                                               y[i] += t

Each part of the loop then has a copy of one value, not of all of ``y``: one long row is divided
between threads.
"""

from __future__ import annotations

from finch_core.interface.signatures import bind, tensor_signature
from finch_core.interface.tensorlike import BoundTensor
from finch_core.interface.variable import Variable
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Access, Expr, Index, Literal
from finch_core.ir.program import Declare, Loop, Sequential, Stmt, Update
from finch_core.ir.rewrite import rewrite
from finch_core.lower.pass_state import Unit
from finch_core.records import evolve
from finch_core.symbolic.updates import neutral


def fixed_reductions(stmt: Stmt, unit: Unit) -> Stmt:
    """``stmt`` in which parallel loops reduce into a variable where they reduce into one element,
    at indices of the loops around; ``unit.parallel`` has the roles of these variables."""
    if not unit.parallel:
        return stmt
    stmt = stmt.rebuild(stmt.exprs, tuple(fixed_reductions(body, unit) for body in stmt.bodies))
    if not isinstance(stmt, Loop) or not stmt.parallel:
        return stmt
    before: tuple[Stmt, ...] = ()
    after: tuple[Stmt, ...] = ()
    for tensor in sorted(unit.parallel[stmt.index].reduced, key=str):
        element = _element(stmt, tensor)
        if element is not None:
            stmt, first, last = _by_variable(stmt, element, tensor, unit)
            before, after = (*before, first), (*after, last)
    return Sequential((*before, stmt, *after)) if before else stmt


def _element(loop: Loop, tensor: BoundTensor) -> Access | None:
    """The element of ``tensor`` that the loop reduces into, if it is one."""
    found = {
        part.target
        for part in loop.body.walk()
        if isinstance(part, Update) and part.target.tensor.root is tensor
    }
    inner = {part.index for part in loop.walk() if isinstance(part, Loop)}
    one = next(iter(found))
    plain = all(isinstance(k, Index) and k not in inner for k in one.indices)
    return one if len(found) == 1 and one.indices and plain else None


def _by_variable(
    loop: Loop, element: Access, tensor: BoundTensor, unit: Unit
) -> tuple[Loop, Stmt, Stmt]:
    """The loop, and the statements before and after it."""
    dtype = concrete(tensor.format.dtype)
    found, _, _ = bind(tensor_signature(Variable(dtype)), f"{tensor}_total", unit.names)
    assert found is not None
    found.local = True
    unit.made.append(found)
    roles = unit.parallel[loop.index]
    reduced = {**roles.reduced, found: roles.reduced[tensor]}
    merge = reduced.pop(tensor).merge
    unit.parallel[loop.index] = evolve(roles, reduced=reduced)
    there = Access(found.fiber, (), element.span)

    def rule(node: Expr) -> Expr:
        return there if node == element else node

    before = Declare(found, Literal(neutral(merge, dtype), dtype), span=loop.span)
    after = Update(element, merge, there, span=loop.span)
    return evolve(loop, body=rewrite(loop.body, rule, rule)), before, after


__all__ = ["fixed_reductions"]
