"""Dead locals: declarations, updates and loops that only compute a local that is never read.

``lower/scratch.py`` marks the locals that may be eliminated.
"""

from __future__ import annotations

from typing import Any

from finch_core.ir.expressions import Access
from finch_core.ir.program import (
    Declare,
    Define,
    Freeze,
    Labelled,
    Loop,
    Sequential,
    Sieve,
    Stmt,
    Swap,
    Thaw,
    Update,
)
from finch_core.ir.rewrite import rewrite_statements

NOTHING = Sequential()
_WRAPPING = (Loop, Define, Sieve, Labelled)
"""Statements that do nothing if the statements in them do nothing."""


def dead_locals(stmt: Sequential) -> Stmt | None:
    """A block without the scratch locals that it declares and does not read; None if there are
    none."""
    scratch = {p.tensor for p in stmt.statements if isinstance(p, Declare) and p.scratch}
    dead = scratch - read(stmt) if scratch else scratch
    return without(stmt, dead) if dead else None


def read(stmt: Stmt) -> set[Any]:
    """The tensors whose values a statement reads."""
    found = set()
    for part in stmt.walk():
        if isinstance(part, Swap):
            found |= {part.first, part.second}
        taken = (*part.target.indices, part.value) if isinstance(part, Update) else part.exprs
        for expr in taken:
            found |= {node.tensor.root for node in expr.walk() if isinstance(node, Access)}
    return found


def without(stmt: Stmt, gone: set[Any]) -> Stmt:
    """``stmt`` without the statements on tensors in ``gone``, which it does not read."""

    def rule(part: Stmt) -> Stmt:
        if isinstance(part, (Declare, Freeze, Thaw)):
            return NOTHING if part.tensor in gone else part
        if isinstance(part, Update):
            return NOTHING if part.target.tensor.root in gone else part
        if isinstance(part, Sequential):
            kept = tuple(s for s in part.statements if s != NOTHING)
            return kept[0] if len(kept) == 1 else Sequential(kept, span=part.span)
        does = not isinstance(part, _WRAPPING) or any(b != NOTHING for b in part.bodies)
        return part if does else NOTHING

    return rewrite_statements(stmt, rule)


__all__ = ["dead_locals"]
