"""Loop unswitching: a check with a loop-invariant conjunct is tested once, before the loop.

    for i in range(0, n):                          if 15 >= m:
        at: int64 = a[i] // 16                         for i in range(0, n): ...
        if 15 >= m and at >= m:          ->        else:
            fail(1)                                    for i in range(0, n):
        c[at] += 1                                         at: int64 = a[i] // 16
                                                           c[at] += 1

The loop without its checks is the one that usually runs. C compilers do not find this: they see
that the second conjunct implies the first and drop the first. Checks in nested loops move
before the outermost loop in which the conjunct is invariant.
"""

from __future__ import annotations

from functools import reduce

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Block, Fail, For, If, Statement, contains
from finch_core.ir.assembly_rewrite import changed_names, read_names, with_blocks, with_statements
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Call, Expr, Invoke, Load


def unswitching(block: Block, names: Names) -> Block:
    """``block`` with invariant conjuncts of checks tested before the outermost loop possible."""
    if not contains(block, For):
        return block
    done: list[Statement] = []
    for statement in block.statements:
        found: dict[Expr, None] = {}
        if isinstance(statement, For):
            body = _without_checks(statement.body, changed_names(statement), found)
        if found:
            inner = unswitching(Block((with_blocks(statement, (body,)),)), names)
            statement = If(reduce(Expr.or_, found), Block((statement,)), inner)
        else:
            blocks = tuple(unswitching(b, names) for b in statement.blocks)
            statement = with_blocks(statement, blocks)
        done.append(statement)
    return with_statements(block, done)


def _without_checks(block: Block, changed: set[str], found: dict[Expr, None]) -> Block:
    """``block`` without its checks; their invariant conjuncts are added to ``found``."""
    done: list[Statement] = []
    for statement in block.statements:
        cond = _needed(statement, changed)
        if cond is not None:
            found[cond] = None
            continue
        blocks = tuple(_without_checks(b, changed, found) for b in statement.blocks)
        done.append(with_blocks(statement, blocks))
    return with_statements(block, done)


def _needed(statement: Statement, changed: set[str]) -> Expr | None:
    """The invariant conjunct without which a check cannot fail; None for any other statement."""
    if not isinstance(statement, If) or statement.orelse or not statement.body:
        return None
    cond = statement.cond
    if not isinstance(statement.body.statements[-1], Fail):
        return None
    if not isinstance(cond, Call) or cond.op is not prim.and_:
        return None
    first = cond.args[0]
    if read_names(first) & changed or any(isinstance(e, (Load, Invoke)) for e in first.walk()):
        return None
    return first
