"""Carried values: the element that a loop has stored last is read from a variable.

    for i in range(0, n):                                for i in range(0, n):
        for j in range(0, i):                                for j in range(0, i):
            t -= L[i, j] * x[j]                                  t -= L[i, j] * carried(x)[i, j]
        x[i] = t / L[i, i]                        ->         x_last[()] = t / L[i, i]
                                                             x[i] = x_last[()]

``carried(x)`` has ``x_last`` at ``i - 1`` and the elements of ``x`` elsewhere
(``looplets/carried.py``). The next turn need not wait until the element is in memory. This is done
for vectors that store every index, of which each turn stores the next element, without a condition.
"""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.interface.signatures import bind, tensor_signature
from finch_core.interface.tensorlike import ZERO, BoundTensor
from finch_core.interface.variable import Variable
from finch_core.ir.expressions import Access, Call, Expr, Index
from finch_core.ir.program import (
    Declare,
    Define,
    Freeze,
    Loop,
    Sequential,
    Stmt,
    Thaw,
    Update,
    While,
    leaves,
)
from finch_core.ir.rewrite import rewrite
from finch_core.looplets.carried import Carried
from finch_core.lower.pass_state import Unit, exchanged, reads_of
from finch_core.records import evolve


def carried_values(stmt: Stmt, unit: Unit) -> Stmt:
    """Keep what loops of ``stmt`` store to vectors that they also read in variables."""
    if not unit.read_in_update or "carried_values" in unit.disabled:
        return stmt
    return _stmt(stmt, unit)


def _stmt(stmt: Stmt, unit: Unit) -> Stmt:
    if isinstance(stmt, Loop):
        for tensor in sorted(unit.read_in_update, key=str):
            if _fills(stmt, tensor):
                stmt = _carrying(stmt, tensor, unit)
    return stmt.rebuild(stmt.exprs, tuple(_stmt(body, unit) for body in stmt.bodies))


def _fills(loop: Loop, tensor: BoundTensor) -> bool:
    """Whether each turn of a loop stores the next element of a vector, after loops that read it."""
    levels = tensor.format.levels()
    if len(levels) != 2 or not levels[0].stores_fill or leaves(loop.body):
        return False
    if loop.extent is None or loop.extent.start != ZERO or loop.step is not None:
        return False
    parts = list(loop.body.walk())
    updates = [p for p in parts if isinstance(p, Update) and p.target.tensor.root is tensor]
    if any(isinstance(p, (Declare, Freeze, Thaw)) and p.tensor is tensor for p in parts):
        return False
    if tensor in exchanged(loop):
        return False
    if len(updates) != 1 or updates[0].target != Access(tensor.fiber, (loop.index,)):
        return False
    before = list(_before(loop.body, updates[0]))
    return updates[0] in _items(loop.body) and any(_walks(item, tensor) for item in before)


def _items(stmt: Stmt) -> Iterator[Stmt]:
    """The statements that each execution of a block executes, in order."""
    if isinstance(stmt, Sequential):
        for part in stmt.statements:
            yield from _items(part)
    else:
        yield stmt
        if isinstance(stmt, Define):
            yield from _items(stmt.body)


def _before(stmt: Stmt, update: Update) -> Iterator[Stmt]:
    for item in _items(stmt):
        if item is update:
            return
        yield item


def _walks(item: Stmt, tensor: BoundTensor) -> bool:
    """Whether a statement has an innermost loop that reads a vector at its index."""
    return any(_reads_along(loop, tensor) for loop in item.walk() if isinstance(loop, Loop))


def _reads_along(loop: Loop, tensor: BoundTensor) -> bool:
    if any(isinstance(part, (Loop, While)) for part in loop.body.walk()):
        return False
    wanted = Access(tensor.fiber, (loop.index,))
    return any(
        node == wanted
        for part in loop.body.walk()
        for expr in reads_of(part)
        for node in expr.walk()
    )


def _carrying(loop: Loop, tensor: BoundTensor, unit: Unit) -> Loop:
    """``loop`` with the last element in a variable."""
    last, _, _ = bind(tensor_signature(Variable(tensor.format.dtype)), f"{tensor}_last", unit.names)
    assert last is not None
    last.local = True
    unit.made.append(last)
    (update,) = (
        part
        for part in _items(loop.body)
        if isinstance(part, Update) and part.target.tensor.root is tensor
    )
    reading = True

    def changed(stmt: Stmt) -> Stmt:
        nonlocal reading
        if stmt is update:
            reading = False
            return _stored(update, last)
        if isinstance(stmt, Loop) and reading and _reads_along(stmt, tensor):
            return _at_last(stmt, loop.index, tensor, last)
        return stmt.rebuild(stmt.exprs, tuple(map(changed, stmt.bodies)))

    return evolve(loop, body=changed(loop.body))


def _stored(update: Update, last: BoundTensor) -> Stmt:
    """The update, by way of the variable."""
    there = Access(last.fiber, ())
    value = update.value if update.op is None else Call(update.op, (update.target, update.value))
    kept = Update(there, None, value, span=update.span)
    return Sequential((kept, evolve(update, op=None, value=there)), span=update.span)


def _at_last(loop: Loop, turn: Index, tensor: BoundTensor, last: BoundTensor) -> Loop:
    """``loop``, which reads a vector along its index, with the last element from the variable."""
    plain = Access(tensor.fiber, (loop.index,))

    def rule(node: Expr) -> Expr:
        if node != plain or not isinstance(node, Access):
            return node
        return Access(Carried(tensor.fiber, last), (turn, loop.index), node.span)

    return evolve(loop, body=rewrite(loop.body, rule, lambda target: target))


__all__ = ["carried_values"]
