"""Carried values: the element that a loop has stored last is read from a variable.

    for i in range(0, n):                                for i in range(0, n):
        for j in range(0, i):                                for j in range(0, i):
            t -= L[i, j] * x[j]                                  t -= L[i, j] * carried(x)[i, j]
        x[i] = t / L[i, i]                        ->         x_last[()] = t / L[i, i]
                                                             x[i] = x_last[()]

``carried(x)`` has ``x_last`` at ``i - 1`` and the elements of ``x`` elsewhere
(``looplets/carried.py``). The next turn need not wait until the element is in memory. This is done
for vectors that store every index, of which each turn stores the next element, without a condition.

    for i in reversed(range(n)):                         for i in reversed(range(n)):
                                                             t_last[()] = -0.0
        for j in range(i + 1, n):                            for j in range(i + 1, n):
            t -= U[i, j] * x[j]               ->                 t -= U[i, j] * others(x)[i, j]
        x[i] = t / U[i, i]                                       t_last -= U[i, j] * last(x)[i, j]
                                                             t += t_last[()]
                                                             ...as above

By decreasing indices the element comes first in the sums. Its terms are summed by themselves, so
that the other terms need not wait for it; a ``strict`` kernel keeps the order of floats instead.
The sum is into a variable or into levels that store every element, where one update more stores
no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from finch_core.interface.abilities import Order
from finch_core.interface.level import Format
from finch_core.interface.signatures import bind, tensor_signature
from finch_core.interface.tensorlike import ZERO, BoundTensor, TensorLike
from finch_core.interface.variable import Variable
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Access, Call, Expr, Index, Literal, Var
from finch_core.ir.program import (
    Declare,
    Define,
    Freeze,
    Loop,
    Sequential,
    Stmt,
    Thaw,
    Update,
    has_loops,
    leaves,
)
from finch_core.ir.rewrite import rewrite, rewrite_expr
from finch_core.looplets.carried import Carried, CarriedDown
from finch_core.lower.pass_state import Unit, exchanged, reads_of
from finch_core.records import evolve
from finch_core.symbolic.updates import neutral


def carried_values(stmt: Stmt, unit: Unit) -> Stmt:
    """Keep what loops of ``stmt`` store to vectors that they also read in variables."""
    if not unit.read_in_update or "carried_values" in unit.disabled:
        return stmt
    return _stmt(stmt, unit)


def _stmt(stmt: Stmt, unit: Unit) -> Stmt:
    if isinstance(stmt, Loop):
        for tensor in sorted(unit.read_in_update, key=str):
            if _fills(stmt, tensor, unit):
                stmt = _carrying(stmt, tensor, unit)
    return stmt.rebuild(stmt.exprs, tuple(_stmt(body, unit) for body in stmt.bodies))


def _fills(loop: Loop, tensor: BoundTensor, unit: Unit) -> bool:
    """Whether each turn of a loop stores the next element of a vector, after loops that read it."""
    levels = tensor.format.levels()
    if len(levels) != 2 or not levels[0].stores_fill or leaves(loop.body):
        return False
    if loop.extent is None or not (_ascends(loop) or _descends(loop)):
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
    if updates[0] not in _items(loop.body):
        return False
    walks = [walk for item in before for walk in _walks(item, tensor)]
    if _descends(loop):
        return any(_sum_in(walk, tensor, unit) is not None for walk in walks)
    return bool(walks)


def _ascends(loop: Loop) -> bool:
    """Whether the first turn is that of index 0, and each of the next index."""
    return loop.extent is not None and loop.extent.start == ZERO and loop.step is None


def _descends(loop: Loop) -> bool:
    """Whether each turn is that of the index before, from an end that does not change."""
    down = isinstance(loop.step, Literal) and loop.step.value == -1
    return down and loop.extent is not None and isinstance(loop.extent.stop, (Literal, Var))


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


def _walks(item: Stmt, tensor: BoundTensor) -> list[Loop]:
    """The innermost loops in a statement that read a vector at their index."""
    loops = (loop for loop in item.walk() if isinstance(loop, Loop))
    return [loop for loop in loops if _reads_along(loop, tensor)]


def _reads_along(loop: Loop, tensor: BoundTensor) -> bool:
    if has_loops(loop.body):
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
    last = _variable(f"{tensor}_last", tensor.format.dtype, unit)
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
            if _ascends(loop):
                return _at_last(stmt, loop.index, tensor, last)
            return _last_apart(stmt, loop, tensor, last, unit)
        return stmt.rebuild(stmt.exprs, tuple(map(changed, stmt.bodies)))

    return evolve(loop, body=changed(loop.body))


def _variable(name: str, dtype: np.dtype[Any], unit: Unit) -> BoundTensor:
    """A new variable of the kernel."""
    made, _, _ = bind(tensor_signature(Variable(dtype)), name, unit.names)
    assert made is not None
    made.local = True
    unit.made.append(made)
    return made


def _stored(update: Update, last: BoundTensor) -> Stmt:
    """The update, by way of the variable."""
    there = Access(last.fiber, ())
    value = update.value if update.op is None else Call(update.op, (update.target, update.value))
    kept = Update(there, None, value, span=update.span)
    return Sequential((kept, evolve(update, op=None, value=there)), span=update.span)


def _at_last(loop: Loop, turn: Index, tensor: BoundTensor, last: BoundTensor) -> Loop:
    """``loop``, which reads a vector along its index, with the last element from the variable."""
    return evolve(loop, body=_reading(loop.body, loop, turn, tensor, Carried(tensor.fiber, last)))


def _reading(stmt: Stmt, loop: Loop, turn: Index, tensor: BoundTensor, carried: TensorLike) -> Stmt:
    """``stmt`` in ``loop``, which reads ``carried`` in place of a vector."""
    plain = Access(tensor.fiber, (loop.index,))

    def rule(node: Expr) -> Expr:
        if node != plain or not isinstance(node, Access):
            return node
        return Access(carried, (turn, loop.index), node.span)

    return rewrite(stmt, rule, lambda target: target)


def _sum_in(loop: Loop, tensor: BoundTensor, unit: Unit) -> Update | None:
    """The sum that is all that a loop does, if its terms are zero where a vector is, do not depend
    on the sum, and may be added in any order."""
    update = loop.body
    if not isinstance(update, Update) or update.op not in (prim.add, prim.sub):
        return None
    indices = [node for index in update.target.indices for node in index.walk()]
    dtype, plain = concrete(update.target.dtype), Access(tensor.fiber, (loop.index,))
    exact = dtype.kind in "iu" and concrete(update.value.dtype).kind in "iu"
    if not exact and (unit.strict or dtype.kind not in "fc"):
        return None
    summed = update.target.tensor.root
    nodes = (*update.value.walk(), *indices)
    read = (node.tensor.root for node in nodes if isinstance(node, Access))
    if loop.step is not None or loop.index in indices or summed in (tensor, *read):
        return None
    if summed is None or not _stores_all(summed):
        return None
    zero = Literal(0, concrete(tensor.format.dtype), structural=True)
    simplify = unit.simplifier.expr_rule
    rest = rewrite_expr(update.value, lambda node: zero if node == plain else simplify(node))
    return update if isinstance(rest, Literal) and rest.structural and rest.value == 0 else None


def _stores_all(tensor: BoundTensor) -> bool:
    """Whether a tensor stores every element, so that an update that changes no value does not
    show."""
    *levels, leaf = tensor.format.levels()
    everywhere = all(level.stores_fill and level.order is Order.ANY for level in levels)
    return everywhere and type(leaf).is_stored is Format.is_stored


def _last_apart(walk: Loop, loop: Loop, tensor: BoundTensor, last: BoundTensor, unit: Unit) -> Stmt:
    """``walk``, a sum that reads a vector, with the terms of the last element by themselves."""
    update = _sum_in(walk, tensor, unit)
    if update is None or loop.extent is None:
        return walk
    dtype = concrete(update.target.dtype)
    apart = Access(_variable(f"{tensor}_term", dtype, unit).fiber, ())
    parts = []
    for target, others in ((update.target, True), (apart, False)):
        carried = CarriedDown(tensor.fiber, last, loop.extent.stop, others)
        part = evolve(update, target=target)
        parts.append(_reading(part, walk, loop.index, tensor, carried))
    return Sequential((
        Update(apart, None, Literal(neutral(prim.add, dtype), dtype), span=update.span),
        evolve(walk, body=Sequential(tuple(parts))),
        Update(update.target, prim.add, apart, span=update.span),
    ))  # fmt: skip


__all__ = ["carried_values"]
