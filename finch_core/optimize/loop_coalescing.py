"""Loop coalescing: loops over the ranges between successive pointers are one loop.

    for i in range(a, b):                             if a < b:
        for q in range(ptr[i], ptr[i + 1]):    ->         for q in range(ptr[a], ptr[b]):
            val[q] *= 2.0                                     val[q] *= 2.0

The inner loop must not use ``i``, and the elements of ``ptr`` never decrease
(``Buffer.ascending``). The ends of short inner loops, which the processor cannot foresee, are then
gone.
"""

from __future__ import annotations

from finch_core.ir.assembly import (
    Block,
    Comment,
    For,
    If,
    Let,
    Statement,
    contains,
    is_left,
)
from finch_core.ir.assembly_rewrite import (
    changed_names,
    in_terms_of,
    own_stores,
    replacing,
    used_in,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Cast, Expr, Literal, Load, Var
from finch_core.ir.typing import typed

ONE = Literal(1, INTP)


def loop_coalescing(block: Block, names: Names) -> Block:
    """``block`` with loops over successive ranges coalesced."""
    return _coalesced(block, block)


def _coalesced(block: Block, kernel: Block) -> Block:
    if not contains(block, For):
        return block
    done: list[Statement] = []
    for statement in block.statements:
        loop = _one_loop(statement, kernel) if isinstance(statement, For) else None
        if loop is None:
            blocks = tuple(_coalesced(inner, kernel) for inner in statement.blocks)
            done.append(with_blocks(statement, blocks))
        else:
            assert isinstance(statement, For)
            runs = If(statement.start < statement.stop, Block((loop,)))
            done += typed(Block((runs,))).statements
    return with_statements(block, done)


def _one_loop(outer: For, kernel: Block) -> For | None:
    """The loop that does what the loop in ``outer`` does in all turns of that, if there is a turn;
    None if there is no such loop."""
    *before, inner = outer.body.statements or (None,)
    if not isinstance(inner, For) or outer.lanes or outer.banks or outer.jam or is_left(inner.body):
        return None
    inner = _one_loop(inner, kernel) or inner
    meanings: dict[Expr, Expr] = {}
    for statement in before:
        if isinstance(statement, Let) and not statement.mutable and not own_stores(statement):
            meanings[statement.var] = statement.value
        elif not isinstance(statement, Comment):
            return None
    start, stop = (in_terms_of(end, meanings) for end in (inner.start, inner.stop))
    chain = _chain(start, outer.var)
    if not chain or _at(start, outer.var, outer.var + ONE) != stop:
        return None
    declared = {outer.var.name, *(var.name for var in meanings if isinstance(var, Var))}
    if not declared.isdisjoint(used_in(inner.body)):
        return None
    if not chain.isdisjoint(changed_names(*kernel.statements)):
        return None
    first, last = (_at(start, outer.var, end) for end in (outer.start, outer.stop))
    return For(inner.var, first, last, inner.body, inner.lanes, inner.banks, inner.loose)


def _chain(expr: Expr, var: Var) -> frozenset[str]:
    """The names of the buffers through which ``expr`` leads to ``var`` and increases with it; none
    if it does otherwise."""
    found = set()
    while isinstance(expr, (Load, Cast)):
        if isinstance(expr, Load) and expr.buffer.ascending:
            found.add(expr.buffer.name)
            expr = expr.index
        elif isinstance(expr, Cast) and expr.type == INTP:
            expr = expr.value
        else:
            return frozenset()
    return frozenset(found if expr == var else ())


def _at(expr: Expr, var: Var, value: Expr) -> Expr:
    changed: Expr = replacing({var: value})(expr)
    return changed
