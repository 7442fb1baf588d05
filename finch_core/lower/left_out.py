"""Indices left out: masks of ``!=`` that cost more than they spare become comparisons again.

    for i in range(n):                        for i in range(n):
        if not EqMask()[i, c]:                    if i != c:
            y[i] = x[i]                ->             y[i] = x[i]
        if y[i] > 3: break                        if y[i] > 3: break

Such a mask makes a loop two, before and after one index. If the loop's body may leave it, both end
more often than is foreseen.
"""

from __future__ import annotations

from functools import partial

from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Call, Expr, Index
from finch_core.ir.program import Loop, Stmt, leaves
from finch_core.ir.rewrite import rewrite
from finch_core.lower.pass_state import Unit


def left_out(stmt: Stmt, unit: Unit) -> Stmt:
    """Undo masks of ``!=`` in loops that their bodies may leave, except loops whose range leaves a
    tensor (``unit.loose``): where a mask has decided, accesses need no check of the index."""
    bodies = tuple([left_out(body, unit) for body in stmt.bodies])
    stmt = stmt.rebuild(stmt.exprs, bodies)
    if isinstance(stmt, Loop) and stmt.index not in unit.loose and leaves(stmt.body):
        return rewrite(stmt, partial(_compared, stmt.index, unit.compared))
    return stmt


def _compared(index: Index, compared: dict[Expr, Expr], node: Expr) -> Expr:
    found = compared.get(node)
    is_left_out = isinstance(found, Call) and found.op is prim.ne and index in found.args
    return found if is_left_out and found is not None else node


__all__ = ["left_out"]
