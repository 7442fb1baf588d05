"""Wrapperization: index expressions become wrapper tensors, and conditions become masks (paper,
Figure "Wrapperization" and Table "Wrapper tensors").

    if i <= j:                        if UpTriMask()[i, j]:
        s[()] += A[walk(i), j]   ->       s[()] += protocolize(A, walk, None)[i, j]

The wrappers and masks that are installed say what they make of an index or a comparison; the core
knows none of them.
"""

from __future__ import annotations

from typing import Any

from finch_core.expressions import Access, Call, Expr, Index
from finch_core.notation import Loop, Stmt
from finch_core.passes.unit import Unit
from finch_core.rewrite import rewrite_expr


def wrapperize(stmt: Stmt, unit: Unit) -> Stmt:
    """Offer every access to the wrappers and every comparison to the masks, until none wants it."""
    wrappers = tuple(w for w in unit.hub.wrappers.values() if hasattr(w, "match_access"))
    masks = tuple(m for m in unit.hub.masks.values() if hasattr(m, "match_condition"))
    return _Wrapperizer(wrappers, masks).stmt(stmt, ())


class _Wrapperizer:
    def __init__(self, wrappers: tuple[Any, ...], masks: tuple[Any, ...]) -> None:
        self.wrappers, self.masks = wrappers, masks

    def stmt(self, stmt: Stmt, loops: tuple[Index, ...]) -> Stmt:
        """``loops`` are the indices of the loops around ``stmt``, outermost first."""
        inner = (*loops, stmt.index) if isinstance(stmt, Loop) else loops

        def rule(node: Expr) -> Expr:
            return self.rule(node, loops)

        exprs = tuple(rewrite_expr(expr, rule) for expr in stmt.exprs)
        return stmt.rebuild(exprs, tuple(self.stmt(body, inner) for body in stmt.bodies))

    def rule(self, node: Expr, loops: tuple[Index, ...]) -> Expr:
        if isinstance(node, Access):
            return self.access(node, loops)
        if isinstance(node, Call):
            for mask in self.masks:
                found = mask.match_condition(node, loops)
                if found is not None:
                    result: Expr = found
                    return result
        return node

    def access(self, node: Access, loops: tuple[Index, ...]) -> Access:
        changed = True
        while changed:
            changed = False
            for wrapper in self.wrappers:
                found = wrapper.match_access(node, loops)
                if found is not None:
                    node, changed = found, True
        return node
