"""Tests that are the same in each turn of a loop are made once, before it.

    for i in gap:                               t = -inf; t = max(t, 0)
        t = -inf; t = max(t, 0)        ->       if t != 0:
        if t != 0: y[i] = t                         for i in gap: y[i] = t

Where nothing is stored, a reduction has one value for all rows: if that is the fill, there is no
loop. What the test guards may leave the loop, `last = i; break`, which then has one turn at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from finch_core.ir.expressions import Access, Expr
from finch_core.ir.program import (
    Declare,
    Freeze,
    Leave,
    Loop,
    Sequential,
    Sieve,
    Stmt,
    Update,
)
from finch_core.looplets.region import OfRegion, Region, begins, is_empty
from finch_core.looplets.slots import mentions, slots_in
from finch_core.records import evolve

if TYPE_CHECKING:
    from finch_core.interface.context import Context


def lower_tested(ctx: Context, region: Region) -> bool:
    """Emit a region whose body ends with a test that is the same for all indices, after what is the
    same, too; False if it is none."""
    body = region.body
    *before, last = body.statements if isinstance(body, Sequential) else (body,)
    if not isinstance(last, Sieve) or not is_empty(last.orelse):
        return False
    test = evolve(last, body=Sequential())
    if any(mentions(part, region.index) or slots_in(part) for part in (*before, test)):
        return False
    parts = [inner for part in before for inner in part.walk()]
    own = {part.tensor for part in parts if isinstance(part, Declare)}
    if not all(_stays(part, own) for part in parts):
        return False
    inside = list(last.body.walk())
    if not all(isinstance(part, (Sequential, Sieve, Update, Leave)) for part in inside):
        return False
    written = {part.target.tensor.root for part in inside if isinstance(part, Update)}
    if written & _read([*parts, test]):
        return False
    turns = OfRegion(evolve(region, body=last.body))

    def emit() -> None:
        for part in (*before, evolve(last, body=turns)):
            ctx.lower(part)

    ctx.fork(begins(ctx, region), emit)
    return True


def _stays(part: Stmt, own: set[Any]) -> bool:
    """Whether a statement may be executed once for many times: it writes temporaries alone, which
    it declares."""
    if isinstance(part, Update):
        return part.target.tensor.root in own
    if isinstance(part, (Declare, Freeze)):
        return part.tensor in own and part.tensor.local
    return isinstance(part, (Sequential, Sieve, Loop))


def _read(stmts: list[Stmt]) -> set[Any]:
    """The tensors that statements read."""
    exprs: list[Expr] = []
    for part in stmts:
        target = part.target if isinstance(part, Update) else None
        exprs += target.indices if target is not None else ()
        exprs += (expr for expr in part.exprs if expr is not target)
    nodes = (node for expr in exprs for node in expr.walk())
    return {node.tensor.root for node in nodes if isinstance(node, Access)}


__all__ = ["lower_tested"]
