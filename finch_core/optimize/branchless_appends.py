"""Branchless appends: an append under a condition stores always, and counts where the condition
holds.

    if stored >= room: ... grow(val, more)        if stored >= room: ... grow(val, more)
    if a_val[q] > t:                              keep: bool = a_val[q] > t
        val[stored] = a_val[q]            ->      val[stored] = a_val[q]
        idx[stored] = i                           idx[stored] = i
        stored += 1                               stored += int64(keep)

The condition depends on data, so a branch on it would be mispredicted; what is stored beyond the
counter has no meaning, as nothing reads these buffers. Values must be as cheap as the condition,
and be computed from what the iteration has loaded anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Assign,
    Block,
    For,
    Grow,
    If,
    Let,
    Statement,
    Store,
    While,
    is_growth_check,
)
from finch_core.ir.assembly_rewrite import changed_names, stored_by, with_blocks, with_statements
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import BOOL, INTP
from finch_core.ir.expressions import TRUE, Call, Expr, Invoke, Literal, Load, Var, cast
from finch_core.symbolic.guards import guarded

ONE = Literal(1, INTP)


def branchless_appends(block: Block, names: Names) -> Block:
    """``block`` with the conditional appends of loops without branches."""
    if not any(isinstance(s, Grow) for s in block.walk()):
        return block
    read = {load.buffer.name for s in block.walk() for load in _loads(s.expressions)}
    return _rewritten(block, read, names)


def _rewritten(block: Block, read: set[str], names: Names) -> Block:
    done: list[Statement] = []
    for statement in block.statements:
        blocks = tuple(_rewritten(b, read, names) for b in statement.blocks)
        if isinstance(statement, (For, While)):
            blocks = (*blocks[:-1], _turn(blocks[-1], read, names))
        done.append(with_blocks(statement, blocks))
    return with_statements(block, done)


def _turn(body: Block, read: set[str], names: Names) -> Block:
    """The body of a loop, whose last statement may be an append under a condition."""
    *before, last = body.statements or (None,)
    if not isinstance(last, If) or not _appends(last, before, read):
        return body
    keep = Var(names.fresh("keep"), BOOL)
    *stores, count = last.body.statements
    assert isinstance(count, Assign)
    counted = Assign(count.var, count.var + cast(keep, INTP))
    return with_statements(body, (*before, Let(keep, last.cond), *stores, counted))


def _appends(branch: If, before: list[Statement], read: set[str]) -> bool:
    """Whether ``branch`` only appends cheap values to buffers that have room for them."""
    *stores, count = branch.body.statements or (None,)
    if branch.orelse or branch.likely is not None or not isinstance(count, Assign) or not stores:
        return False
    if count.value != count.var + ONE or not _is_cheap(branch.cond):
        return False
    roomy = _with_room(before, count.var) - read
    ready = _loaded(before, branch.cond)
    return all(
        isinstance(s, Store)
        and s.index == count.var
        and s.buffer.name in roomy
        and _is_cheap(s.value)
        and ready.issuperset(_loads([s.value]))
        for s in stores
    )


def _with_room(before: list[Statement], counter: Var) -> set[str]:
    """The buffers that have room for the element at ``counter`` after ``before``."""
    found: set[str] = set()
    for statement in before:
        if is_growth_check(statement) and _is_about(statement, counter):
            found |= {s.buffer.name for s in statement.blocks[0].walk() if isinstance(s, Grow)}
        elif counter.name in changed_names(statement):
            found = set()
    return found


def _is_about(check: Statement, counter: Var) -> bool:
    cond = check.expressions[0]
    return isinstance(cond, Call) and cond.op is prim.ge and cond.args[0] == counter


def _loaded(before: Iterable[Statement], cond: Expr) -> set[Load]:
    """What has been loaded where ``cond`` has been evaluated, whatever its value."""
    exprs = [s.value for s in before if isinstance(s, (Let, Assign))]
    return {load for expr in (*exprs, cond) for guard, load in guarded(expr, TRUE, Load)
            if guard is TRUE}  # fmt: skip


def _loads(exprs: Iterable[Expr]) -> Iterator[Load]:
    return (node for expr in exprs for node in expr.walk() if isinstance(node, Load))


def _is_cheap(expr: Expr) -> bool:
    """Whether evaluating ``expr`` for nothing costs less than a mispredicted branch."""
    nodes = list(expr.walk())
    if stored_by(expr) or any(isinstance(node, Invoke) for node in nodes):
        return False
    return not any(isinstance(node, Call) and node.op.costly for node in nodes)


__all__ = ["branchless_appends"]
