"""Scalar replacement: an element that an iteration updates conditionally is kept in a variable.

    fill(y_val, 0, n, 0.0)                   fill(y_val, 0, n, 0.0)
    for i in range(0, n):                    for i in range(0, n):
        if idx[i] < m:              ->           mut y_val_i: float64 = y_val[i]
            y_val[i] += x[idx[i]]                if idx[i] < m: y_val_i += x[idx[i]]
                                                 y_val[i] = y_val_i

It applies to loops over a range that has just been filled, so that the elements exist, if each
iteration accesses its own element only. The fill is then not needed (``store_forwarding``).
"""

from __future__ import annotations

from finch_core.ir.assembly import (
    Assign,
    Block,
    Break,
    Fail,
    Fill,
    For,
    Let,
    Move,
    Return,
    Statement,
    Store,
    While,
    contains,
)
from finch_core.ir.assembly_rewrite import (
    changed_names,
    own_changes,
    read_names,
    replacing,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Buffer, Load, Var
from finch_core.optimize.dereferenceability import place_name


def scalar_replacement(block: Block, names: Names) -> Block:
    """``block`` with elements kept in variables, in loops over a range that was just filled."""
    if not contains(block, Fill):
        return block
    statements = [
        with_blocks(s, tuple(scalar_replacement(inner, names) for inner in s.blocks))
        for s in block.statements
    ]
    for k, statement in enumerate(statements):
        if isinstance(statement, Fill):
            user = _next_user(statement, statements[k + 1 :])
            if user is not None:
                loop = statements[k + 1 + user]
                assert isinstance(loop, For)
                statements[k + 1 + user] = _in_variable(loop, statement.buffer, names)
    return with_statements(block, statements)


def _next_user(fill: Fill, rest: list[Statement]) -> int | None:
    """The position of the next statement that accesses the buffer, if it is a loop as above."""
    bounds = read_names(fill.start) | read_names(fill.stop)
    for k, statement in enumerate(rest):
        if _touches(statement, fill.buffer):
            fits = isinstance(statement, For) and _fits(statement, fill)
            return k if fits else None
        if changed_names(statement) & bounds:
            return None
    return None


def _touches(statement: Statement, buffer: Buffer) -> bool:
    return any(buffer.name in _used(inner) for inner in statement.walk())


def _used(statement: Statement) -> set[str]:
    """Names that a statement itself reads or changes."""
    names = own_changes(statement).union(*map(read_names, statement.expressions))
    return names | ({statement.source.name} if isinstance(statement, Move) else set())


def _fits(loop: For, fill: Fill) -> bool:
    """Whether the loop runs over the filled range, has no early exit, stores an element in a
    nested block, and accesses the buffer only at the current iteration's element."""
    if (loop.start, loop.stop) != (fill.start, fill.stop):
        return False
    inside = list(loop.body.walk())
    stores = [s for s in inside if isinstance(s, Store) and s.buffer == fill.buffer]
    if not stores or any(s in loop.body.statements for s in stores):
        return False
    if any(isinstance(s, (Fail, Return)) for s in inside) or _breaks(loop.body):
        return False
    return all(_stays_at(s, fill.buffer, loop.var) for s in inside)


def _breaks(block: Block) -> bool:
    """Whether ``block`` may break out of the loop around it."""
    return any(
        isinstance(s, Break) or (not isinstance(s, (For, While)) and any(map(_breaks, s.blocks)))
        for s in block.statements
    )


def _stays_at(statement: Statement, buffer: Buffer, var: Var) -> bool:
    """Whether a statement itself accesses ``buffer`` only at the index ``var``."""
    stores = isinstance(statement, Store) and statement.buffer == buffer
    if stores and statement.index != var:  # type: ignore[attr-defined]
        return False
    if not stores and buffer.name in own_changes(statement):
        return False
    if isinstance(statement, Move) and statement.source == buffer:
        return False
    own = replacing({Load(buffer, var): var})
    return not any(buffer.name in read_names(own(e)) for e in statement.expressions)


def _in_variable(loop: For, buffer: Buffer, names: Names) -> For:
    place = Load(buffer, loop.var)
    element = Var(names.fresh(place_name(place)), buffer.dtype)
    replace = replacing({place: element})
    body = Block(
        (
            Let(element, place, mutable=True),
            *(_assigning(replace.statement(s), element, buffer) for s in loop.body.statements),
            Store(buffer, loop.var, element),
        )
    )
    return For(loop.var, loop.start, loop.stop, body, loop.lanes, loose=loop.loose)


def _assigning(statement: Statement, element: Var, buffer: Buffer) -> Statement:
    """``statement`` with stores to ``buffer`` replaced by assignments to ``element``."""
    if isinstance(statement, Store) and statement.buffer == buffer:
        return Assign(element, statement.value)
    blocks = (
        with_statements(block, (_assigning(s, element, buffer) for s in block.statements))
        for block in statement.blocks
    )
    return with_blocks(statement, tuple(blocks))
