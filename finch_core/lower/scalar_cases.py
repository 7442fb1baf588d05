"""Scalar cases: a statement that reads a scalar with two cases is emitted once for each case.

    for i in _:                           if s_dirty:
        y[i] += s[()] * x[i]     ->           for i in _: y[i] += s_val * x[i]

A sparse scalar's readers are specialised for its fill value (paper, "Scalars"). This is done
only if it simplifies the statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from finch_core.interface.tensorlike import TensorLike
from finch_core.ir.expressions import Access, Expr
from finch_core.ir.program import Declare, Define, Loop, Sieve, Stmt, Update
from finch_core.ir.rewrite import rewrite
from finch_core.looplets.region import is_empty

if TYPE_CHECKING:
    from finch_core.interface.context import Context


def cases_of(ctx: Context, stmt: Stmt) -> tuple[Expr, Stmt, Stmt] | None:
    """A condition, and ``stmt`` specialised to where it holds and to where it does not.

    None if no scalar that it reads has two cases, or if no case removes a loop: code is not
    duplicated only for another value.
    """
    if not isinstance(stmt, (Define, Loop, Sieve, Update)):
        return None
    for tensor in dict.fromkeys(_scalars_read(stmt)):
        switch = tensor.cases(ctx)
        if switch is None:
            continue
        yes, no = (
            _with(ctx, stmt, tensor, part)
            for part in (switch.head, switch.tail)
            if isinstance(part, TensorLike)
        )
        if isinstance(stmt, Update) or is_empty(no) or type(no) is not type(stmt):
            return switch.cond, yes, no
    return None


def _scalars_read(stmt: Stmt) -> Iterator[TensorLike]:
    """The tensors that ``stmt`` reads without an index and does not change."""
    changed = {part.tensor for part in stmt.walk() if isinstance(part, Declare)}
    changed |= {part.target.tensor.root for part in stmt.walk() if isinstance(part, Update)}
    for part in stmt.walk():
        for expr in _values(part):
            for node in expr.walk():
                if isinstance(node, Access) and not node.indices:
                    tensor: TensorLike = node.tensor
                    if tensor.root not in changed or tensor.root is None:
                        yield tensor


def _values(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions whose values ``stmt`` uses."""
    return (*stmt.target.indices, stmt.value) if isinstance(stmt, Update) else stmt.exprs


def _with(ctx: Context, stmt: Stmt, tensor: TensorLike, part: TensorLike) -> Stmt:
    """``stmt`` with the scalar ``tensor`` replaced by ``part``."""
    value = part.read(ctx)

    def rule(node: Expr) -> Expr:
        found = isinstance(node, Access) and not node.indices and node.tensor == tensor
        return value if found else node

    return ctx.simplify(rewrite(stmt, rule, lambda target: target))
