"""Fills that a loop overwrites: each element starts from the value, not from memory.

    fill(y_val, 0, n, 0.0)
    for i in range(0, n):                    for i in range(0, n):
        mut s: float64 = y_val[i]     ->         mut s: float64 = 0.0
        ...                                      ...
        y_val[i] = s                             y_val[i] = s

The loop must store every element of the range itself, at its own index, whatever happens in it.
"""

from __future__ import annotations

from finch_core.assembly import Assign, Block, Break, Fill, For, Let, Move, Statement, Store, While
from finch_core.assembly_rewrite import (
    Substitution,
    changed_names,
    own_changes,
    read_names,
    with_blocks,
    with_statements,
)
from finch_core.builder import Names
from finch_core.expressions import Buffer, Expr, Invoke, Load, Var


def fills(block: Block, names: Names) -> Block:
    """``block`` without the fills that the next loop over the same elements makes needless."""
    statements = [
        with_blocks(s, tuple(fills(inner, names) for inner in s.blocks)) for s in block.statements
    ]
    k = 0
    while k < len(statements):
        statement = statements[k]
        if isinstance(statement, Fill):
            user = _next_user(statements, k)
            loop = statements[user] if user is not None else None
            new = _taken_over(statement, loop) if isinstance(loop, For) else None
            if new is not None and user is not None:
                statements[user] = new
                del statements[k]
                continue
        k += 1
    return with_statements(block, statements)


def _next_user(statements: list[Statement], k: int) -> int | None:
    """The next statement that touches the buffer, if the fill's range is the same there."""
    fill = statements[k]
    assert isinstance(fill, Fill)
    bounds = read_names(fill.start) | read_names(fill.stop) | read_names(fill.value)
    for user in range(k + 1, len(statements)):
        if _touches(statements[user], fill.buffer):
            return user
        if changed_names(statements[user]) & bounds:
            return None
    return None


def _touches(statement: Statement, buffer: Buffer) -> bool:
    if buffer.name in changed_names(statement):
        return True
    return any(
        buffer.name in read_names(expr) for inner in statement.walk() for expr in inner.expressions
    ) or any(isinstance(s, Move) and s.source.name == buffer.name for s in statement.walk())


def _taken_over(fill: Fill, loop: For) -> For | None:
    """The loop with the fill's value in place of what it reads, or None where it needs the fill."""
    if (loop.start, loop.stop) != (fill.start, fill.stop):
        return None
    if not _stays_at(loop, fill.buffer) or any(_breaks(s) for s in loop.body.statements):
        return None
    if changed_names(*loop.body.statements) & read_names(fill.value):
        return None
    place = Load(fill.buffer, loop.var)
    replace = Substitution(lambda e: fill.value if e == place else None)
    done: list[Statement] = []
    for k, statement in enumerate(loop.body.statements):
        if isinstance(statement, Store) and statement.buffer == fill.buffer:
            done.append(replace.statement(statement))
            rest = loop.body.statements[k + 1 :]
            body = Block((*done, *rest))
            return For(loop.var, loop.start, loop.stop, body, loop.lanes)
        if _touches(statement, fill.buffer):
            if not isinstance(statement, (Let, Assign)):
                return None
            statement = replace.statement(statement)
        done.append(statement)
    return None


def _breaks(statement: Statement) -> bool:
    """Whether the loop that ``statement`` stands in may be left by it."""
    if isinstance(statement, Break):
        return True
    if isinstance(statement, (For, While)):
        return False
    return any(_breaks(inner) for block in statement.blocks for inner in block.statements)


def _stays_at(loop: For, buffer: Buffer) -> bool:
    """Whether all that the loop does with ``buffer`` is at the loop's own index."""
    for statement in loop.body.walk():
        own = statement.buffer if isinstance(statement, Store) else None
        if own == buffer:
            if not _is(statement.index, loop.var):  # type: ignore[attr-defined]
                return False
        elif buffer.name in _own_changes(statement):
            return False
        for expr in statement.expressions:
            if not _loads_at(expr, buffer, loop.var):
                return False
    return True


def _own_changes(statement: Statement) -> set[str]:
    """What a statement itself changes, but for the blocks inside it."""
    changed = own_changes(statement)
    return changed | ({statement.source.name} if isinstance(statement, Move) else set())


def _loads_at(expr: Expr, buffer: Buffer, var: Var) -> bool:
    if isinstance(expr, Load) and expr.buffer == buffer:
        return _is(expr.index, var)
    names = read_names(expr) if not expr.children else set()
    if isinstance(expr, Invoke):
        names = {arg.name for arg in expr.args if isinstance(arg, Buffer)}
    return buffer.name not in names and all(_loads_at(c, buffer, var) for c in expr.children)


def _is(expr: Expr, var: Var) -> bool:
    return expr == var
