"""Dead fill elimination: capacity is not filled where each element is stored before it is counted.

    if stored >= room:                        if stored >= room:
        more = max(room * 2, 4)                   more = max(room * 2, 4)
        grow(val, more)                           grow(val, more)
        fill(val, room, more, 0.0)    ->          room = more
        room = more                           val[stored] = 0.0 + a * b
    val[stored] += a * b                      stored += 1
    stored += 1

A store to the element at the counter must dominate each increment of the counter, so that no
element below the counter still holds the fill value; and nothing else may access the buffer.
"""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Assign, Block, Fill, Grow, If, Let, Move, Statement, Store
from finch_core.ir.assembly_rewrite import (
    changed_names,
    leaves,
    own_changes,
    read_names,
    replacing,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Buffer, Call, Expr, Literal, Load, Var
from finch_core.records import frozen
from finch_core.symbolic.simplifier import folded

ONE = Literal(1, INTP)


def dead_fills(block: Block, names: Names) -> Block:
    """``block`` without fills of capacity that is stored to before it is counted."""
    buffers = dict.fromkeys(s.buffer for s in block.walk() if isinstance(s, Fill))
    for buffer in buffers:
        block = _without_fills(block, buffer)
    return block


@frozen
class _Append:
    """The statements that append an element: the fill of new capacity, the store and the
    increment."""

    fill: Fill
    store: Store
    count: Assign


def _without_fills(block: Block, buffer: Buffer) -> Block:
    """``block`` without fills of ``buffer``, if it only appends to ``buffer``."""
    found = list(_appends(block, buffer))
    counters = {append.count.var for append in found}
    if len(counters) != 1 or not _is_all(block, buffer, found, counters.pop()):
        return block
    fills = {id(append.fill) for append in found}
    stores = {id(append.store): append for append in found}

    def rewritten(block: Block) -> Block:
        done: list[Statement] = []
        for statement in block.statements:
            if id(statement) in fills:
                continue
            if id(statement) in stores:
                append = stores[id(statement)]
                value = append.fill.value
                place: dict[Expr, Expr] = {Load(buffer, append.count.var): value}
                statement = replacing(place, folded).statement(statement)
            done.append(with_blocks(statement, tuple(map(rewritten, statement.blocks))))
        return with_statements(block, done)

    return rewritten(block)


def _appends(block: Block, buffer: Buffer) -> Iterator[_Append]:
    """The appends to ``buffer`` in ``block`` and its nested blocks."""
    for k, statement in enumerate(block.statements):
        for inner in statement.blocks:
            yield from _appends(inner, buffer)
        fill = _filled(statement, buffer)
        if fill is not None:
            assert isinstance(statement, If)
            append = _append(statement, fill, block.statements[k + 1 :])
            if append is not None:
                yield append


def _filled(statement: Statement, buffer: Buffer) -> Fill | None:
    """The fill in ``if stored >= room: ... fill(buffer, room, more, value) ... room = more``."""
    if not isinstance(statement, If) or statement.orelse:
        return None
    cond = statement.cond
    if not isinstance(cond, Call) or cond.op is not prim.ge or not isinstance(cond.args[1], Var):
        return None
    fills = [s for s in statement.body.statements if isinstance(s, Fill) and s.buffer == buffer]
    if len(fills) != 1 or fills[0].start != cond.args[1]:
        return None
    return fills[0] if isinstance(fills[0].value, Literal) else None


def _append(room: If, fill: Fill, rest: tuple[Statement, ...]) -> _Append | None:
    """The append that starts with ``room``, if ``rest`` stores the element and then counts it."""
    assert isinstance(room.cond, Call)
    counter, store = room.cond.args[0], None
    for statement in rest:
        if isinstance(statement, Assign) and statement.var == counter:
            one_more = store is not None and statement.value == counter + ONE
            return _Append(fill, store, statement) if one_more else None  # type: ignore[arg-type]
        if isinstance(statement, If) and not statement.orelse and store is None:
            append = _append(room, fill, statement.body.statements)
            if append is not None:
                return append
        if leaves(statement) or read_names(counter) & changed_names(statement):
            return None
        if isinstance(statement, Store) and statement.buffer == fill.buffer:
            if store is not None or statement.index != counter:
                return None
            store = statement
    return None


def _is_all(block: Block, buffer: Buffer, appends: list[_Append], counter: Var) -> bool:
    """Whether ``appends`` are the only accesses to the buffer and the only changes of its
    counter."""
    place = Load(buffer, counter)
    known = {id(part) for a in appends for part in (a.fill, a.store, a.count)}
    declared = {s.var for s in block.walk() if isinstance(s, Let)}
    if not declared.issuperset({counter, *(append.fill.start for append in appends)}):
        return False  # the caller keeps such a variable, and it tells the next call what is filled
    if sum(id(statement) in known for statement in block.walk()) != 3 * len(appends):
        return False  # a part of an append also occurs elsewhere
    for statement in block.walk():
        expressions = statement.expressions
        if id(statement) in known:
            own = replacing({place: counter})
            expressions = tuple(map(own, expressions))
        elif _touches(statement, buffer, counter):
            return False
        if any(buffer.name in read_names(expr) for expr in expressions):
            return False
    return True


def _touches(statement: Statement, buffer: Buffer, counter: Var) -> bool:
    """Whether a statement changes elements of the buffer, copies them, or assigns the counter."""
    if isinstance(statement, Move) and statement.source == buffer:
        return True
    changed = set() if isinstance(statement, (Grow, Let)) else own_changes(statement)
    return bool(changed & {buffer.name, counter.name})
