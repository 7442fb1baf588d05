"""Scratch locals: tensors that are read only by later statements of the block that declares them.

    for i, j in _:                            for i, j in _:
        t[...] = 0                                t[...] = 0  # scratch
        for k in _:                               for k in _:
            t[()] += U[i, k] * V[j, k]    ->          t[()] += U[i, k] * V[j, k]
        C[i, j] = S[i, j] * t[()]                 C[i, j] = S[i, j] * t[()]

If the readers of a scratch local are eliminated, so is all code that computes it
(``symbolic.simplifier``): here where ``S`` stores nothing, as if the sum stood in the product.
"""

from __future__ import annotations

from finch_core.interface.tensorlike import BoundTensor
from finch_core.ir.expressions import Access
from finch_core.ir.program import Declare, Freeze, Sequential, Stmt, Swap, Thaw
from finch_core.ir.rewrite import rewrite_statements
from finch_core.lower.pass_state import Unit
from finch_core.records import evolve

_Tensors = frozenset[BoundTensor]


def scratch(stmt: Stmt, unit: Unit) -> Stmt:
    """Mark the declarations of ``stmt`` whose tensors are scratch."""
    declared = {part.tensor for part in stmt.walk() if isinstance(part, Declare)}
    private = {t for t in declared if t.local and t.name not in unit.program.results}
    private -= used_undeclared(stmt) | _left(stmt)
    if not private or "scratch" in unit.disabled:
        return stmt

    def mark(part: Stmt) -> Stmt:
        if isinstance(part, Declare) and part.tensor in private:
            return evolve(part, scratch=True)
        return part

    return rewrite_statements(stmt, mark)


def used_undeclared(stmt: Stmt, mine: _Tensors = frozenset()) -> set[BoundTensor]:
    """The tensors that are used where no enclosing block has declared them; ``mine`` are
    declared."""
    if isinstance(stmt, Sequential):
        found: set[BoundTensor] = set()
        for part in stmt.statements:
            found |= used_undeclared(part, mine)
            if isinstance(part, Declare):
                mine |= {part.tensor}
        return found
    used = {root for root in _roots(stmt) if root is not None} - mine
    if isinstance(stmt, (Freeze, Thaw)):
        used |= {stmt.tensor} - mine
    for body in stmt.bodies:
        used |= used_undeclared(body, mine)
    return used


def _left(stmt: Stmt) -> set[BoundTensor]:
    """The tensors that a block declares and uses, and that a block in it declares, too: what that
    leaves in them may be used after it."""
    found: set[BoundTensor] = set()
    for block in stmt.walk():
        if not isinstance(block, Sequential):
            continue
        own = {part.tensor for part in block.statements if isinstance(part, Declare)}
        inner = [part for part in block.statements if not isinstance(part, Declare)]
        deeper = {p.tensor for part in inner for p in part.walk() if isinstance(p, Declare)}
        found |= {t for t in own & deeper if any(_uses(part, t) for part in inner)}
    return found


def _uses(stmt: Stmt, tensor: BoundTensor) -> bool:
    """Whether a statement uses a tensor where no block in it has declared it."""
    if isinstance(stmt, Sequential):
        for part in stmt.statements:
            if isinstance(part, Declare) and part.tensor == tensor:
                return False
            if _uses(part, tensor):
                return True
        return False
    if isinstance(stmt, Swap) and tensor in (stmt.first, stmt.second):
        return True
    return tensor in _roots(stmt) or any(_uses(body, tensor) for body in stmt.bodies)


def _roots(stmt: Stmt) -> set[BoundTensor | None]:
    return {
        node.tensor.root
        for expr in stmt.exprs
        for node in expr.walk()
        if isinstance(node, Access)
    }  # fmt: skip


__all__ = ["scratch", "used_undeclared"]
