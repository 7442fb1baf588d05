"""Early exits: a tensor that is being updated is frozen where its block is left early.

    for i in _:                               for i in _:
        w[...] = 0                                w[...] = 0
        w[()] += x[i]                             w[()] += x[i]
        if x[i] > 3: break        ->              if x[i] > 3:
        w[()] += 1                                    freeze(w)
        freeze(w)                                     break
                                                  w[()] += 1
                                                  freeze(w)

So a tensor has one mode wherever control comes together again.
"""

from __future__ import annotations

from collections.abc import Mapping

from finch_core.interface.tensorlike import BoundTensor
from finch_core.ir.program import (
    Declare,
    Define,
    Freeze,
    Labelled,
    Leave,
    Sequential,
    Stmt,
    Thaw,
)
from finch_core.lower.pass_state import Unit

Tensors = tuple[BoundTensor, ...]
"""The tensors that are being updated, in the order in which that began."""


def early_exits(stmt: Stmt, unit: Unit) -> Stmt:
    """Insert a ``Freeze`` before each ``Leave`` for every tensor that the labelled statement has
    begun to update."""
    if not any(isinstance(part, Leave) for part in stmt.walk()):
        return stmt
    return _stmt(stmt, (), {})[0]


def _stmt(stmt: Stmt, updated: Tensors, around: Mapping[str, Tensors]) -> tuple[Stmt, Tensors]:
    """The statement with its freezes, and the tensors that are being updated after it.

    ``around``: those that were being updated where each labelled statement began.
    """
    if isinstance(stmt, (Declare, Thaw)):
        return stmt, (*updated, stmt.tensor)
    if isinstance(stmt, Freeze):
        return stmt, tuple(tensor for tensor in updated if tensor is not stmt.tensor)
    if isinstance(stmt, Leave):
        ended = [Freeze(t, span=stmt.span) for t in updated if t not in around[stmt.label]]
        return (Sequential((*ended, stmt)) if ended else stmt), updated
    if isinstance(stmt, Labelled):
        around = {**around, stmt.label: updated}
    if isinstance(stmt, (Sequential, Define)):
        bodies = []
        for body in stmt.bodies:
            done, updated = _stmt(body, updated, around)
            bodies.append(done)
        return stmt.rebuild(stmt.exprs, tuple(bodies)), updated
    parts = tuple(_stmt(body, updated, around)[0] for body in stmt.bodies)
    return stmt.rebuild(stmt.exprs, parts), updated


__all__ = ["early_exits"]
