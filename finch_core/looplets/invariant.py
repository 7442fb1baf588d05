"""Invariant loops: reductions of a loop-invariant value become products, powers, or one update.

Paper, "Runs": ``for i = 1:n; s += x end`` is ``s += n * x``.

A variable that each turn sets before it reads it is private to the turn, and has the same values in
each:

    for i in range(n):                  t = x
        t = x                           if t > 1:
        if t > 1:                ->         t = 1.0
            t = 1.0                     s += t * n
        s += t
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.ir.dtypes import INTP, concrete
from finch_core.ir.expressions import Access, Expr, Load, Var, call, cast, lift
from finch_core.ir.program import (
    Declare,
    Define,
    Freeze,
    Sequential,
    Sieve,
    Stmt,
    Swap,
    Thaw,
    Update,
    While,
    leaves,
)
from finch_core.looplets.later_turns import later_turns
from finch_core.looplets.lookup import each_index
from finch_core.looplets.loop_strides import stride_of
from finch_core.looplets.region import Region, is_empty
from finch_core.looplets.slots import AccessSlot, mentions, slots_in
from finch_core.records import evolve, frozen
from finch_core.symbolic.private_variables import private_variables
from finch_core.symbolic.updates import is_closed

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundTensor
    from finch_core.ir.operators import Operator


def lower_invariant(ctx: Context, region: Region, accepting: frozenset[int]) -> None:
    """Emit a region whose only looplets are the accepting runs in the slots ``accepting``."""
    steps = stride_of(ctx, region)
    if mentions(region.body, region.index, beside_slots=True) or (steps and region.looplets):
        _in_order(ctx, region)
    elif steps is not None and region.is_point(ctx):
        ctx.fork(steps.visits(region.start), lambda: _once(ctx, region, region.body))
    elif region.is_point(ctx):
        _once(ctx, region, region.body)
    else:
        count = region.stop - region.start if steps is None else steps.within(ctx, region)[1]
        body = _tested(region.body)
        if body is None and is_unordered(region.body, accepting):
            body = repeated(region.body, count, accepting, strict=ctx.strict)
        if body is None and is_settled(region.body, accepting):
            body = region.body
        if body is None:
            _in_order(ctx, region)
        else:
            some = region.start < region.stop if steps is None else lift(0) < count
            ctx.fork(some, lambda: _once(ctx, region, ctx.simplify(body)))


def _in_order(ctx: Context, region: Region) -> None:
    """Emit a region turn by turn, or the first one and the repetition of what is left of others."""
    again = None
    if not region.looplets and stride_of(ctx, region) is None and not region.is_point(ctx):
        again = later_turns(region.body, ctx.simplify_expr)
    if again is not None:
        again = ctx.simplify(again)
        others = region.stop - region.start - 1
        if mentions(again, region.index) or not is_unordered(again):
            again = None
        elif not is_empty(again):
            again = repeated(again, others, frozenset(), strict=ctx.strict)
    if again is None:
        each_index(ctx, region)
        return
    rest = again

    def turns() -> None:
        region.between(region.start, region.start + 1).lower(ctx)
        if not is_empty(rest):
            ctx.fork(lift(0) < others, lambda: ctx.lower(ctx.simplify(rest)))

    ctx.fork(region.start < region.stop, turns)


def repetition(ctx: Context, region: Region, count: Expr) -> Stmt | None:
    """A statement equivalent to ``count > 0`` repetitions of a region's body.

    None if they differ, since the body depends on the index, or have to be made one by one.
    """
    body = region.body
    if slots_in(body) or mentions(body, region.index) or stride_of(ctx, region) is not None:
        return None
    tested = _tested(body)
    if tested is None and is_unordered(body):
        return repeated(body, count, frozenset(), strict=ctx.strict)
    return tested


def is_unordered(stmt: Stmt, accepting: frozenset[int] = frozenset()) -> bool:
    """Whether the repetitions of each update may be executed at once.

    Not if the statement reads what it updates, or updates a tensor in more than one way; except
    variables that are private to it, and in the slots ``accepting``, where each repetition has an
    element of its own.
    """
    private = private_variables(stmt)
    ways: dict[BoundTensor, Operator | None] = {}
    read: set[Any] = set()
    for part in stmt.walk():
        exprs = part.exprs
        if isinstance(part, Swap):
            return False
        if isinstance(part, Update):
            root, exprs = part.target.tensor.root, (*part.target.indices, part.value)
            op = None if _is_slot(part.target, accepting) else part.op
            if root is not None and root not in private and ways.setdefault(root, op) != op:
                return False
        read.update(source for expr in exprs for source in _sources(expr, accepting))
    return not any(read.intersection((tensor, *tensor.parts)) for tensor in ways)


def is_settled(stmt: Stmt, accepting: frozenset[int] = frozenset()) -> bool:
    """Whether a second turn finds what the first one left, and does the same again: each tensor is
    changed once, by an assignment or an idempotent operator, before it is read.

        for j in range(n):          m = max(m, x)
            m = max(m, x)     ->    for j in range(n):    # one run
            y[j] = m                    y[j] = m
    """
    changed: set[Any] = set()
    stored: set[Any] = set()
    read: set[Any] = set()
    for part in stmt.walk():
        if not isinstance(part, (Update, Sequential, Sieve, Define)):
            return False
        exprs = part.exprs
        if isinstance(part, Update):
            exprs = (*part.target.indices, part.value)
        read.update(source for expr in exprs for source in _sources(expr, accepting))
        if not isinstance(part, Update):
            continue
        root = part.target.tensor.root
        if root is None or root in changed or read.intersection((root, *root.parts)):
            return False
        changed.add(root)
        if _is_slot(part.target, accepting):
            stored.update((root, *root.parts))
        elif part.op is not None and not _is_idempotent(part):
            return False
    return not read & stored


def _sources(expr: Expr, accepting: frozenset[int]) -> Iterator[Any]:
    """The tensors, buffers and variables that an expression reads, not in slots ``accepting``."""
    for node in expr.walk():
        if isinstance(node, Access):
            if not _is_slot(node, accepting):
                yield node.tensor.root
        elif isinstance(node, Load):
            yield node.buffer
        elif isinstance(node, Var):
            yield node


def _once(ctx: Context, region: Region, body: Stmt) -> None:
    """Execute the body once, with the accepting runs storing the whole region."""
    if not region.looplets:
        ctx.lower(body)
        return
    looplets = {k: run.over(ctx, region.start, region.stop) for k, run in region.looplets.items()}  # type: ignore[attr-defined]
    point = region.between(region.start, region.start + 1)
    evolve(point, body=body, looplets=looplets).lower(ctx)


def _tested(stmt: Stmt) -> Stmt | None:
    """A statement that only leaves the loop, or else does nothing, however often it is repeated;
    None for others."""
    changes = any(isinstance(part, _CHANGES) for part in stmt.walk())
    return stmt if leaves(stmt) and not changes else None


_CHANGES = (Update, Declare, Freeze, Thaw, Swap, While)


def repeated(stmt: Stmt, count: Expr, accepting: frozenset[int], *, strict: bool) -> Stmt | None:
    """A statement equivalent to ``count > 0`` repetitions of ``stmt``, or None. What it does with
    variables that are private to it is done once."""
    if leaves(stmt):
        return None

    def again(part: Stmt) -> Stmt | None:
        if isinstance(part, Update):
            if part.target.tensor.root in private:
                return part
            return _repeated_update(part, count, accepting, strict)
        if isinstance(part, (Declare, Freeze, Thaw)):
            return part if part.tensor in private else None
        if isinstance(part, Swap):
            return None
        bodies = [again(body) for body in part.bodies]
        if None in bodies:
            return None
        return part.rebuild(part.exprs, tuple(bodies))  # type: ignore[arg-type]

    private = private_variables(stmt)
    return again(stmt)


@frozen
class LoopRule:
    """A rule on an update in an invariant loop.

    ``apply`` takes the update, the number of iterations, and whether the order of float
    operations is kept; it gives one update that replaces them, or None where it does not match.
    """

    name: str
    apply: Callable[[Update, Expr, bool], Update | None]
    meaning: str


def _repeated_update(
    stmt: Update, count: Expr, accepting: frozenset[int], strict: bool
) -> Stmt | None:
    if _is_slot(stmt.target, accepting):
        return stmt
    found = (rule.apply(stmt, count, strict) for rule in LOOP_RULES)
    return next((update for update in found if update is not None), None)


def _last_assignment(stmt: Update, count: Expr, strict: bool) -> Update | None:
    return stmt if stmt.op is None else None


def _idempotent_once(stmt: Update, count: Expr, strict: bool) -> Update | None:
    return stmt if _is_idempotent(stmt) else None


def _is_idempotent(stmt: Update) -> bool:
    """Whether the update, made again, changes nothing."""
    if stmt.op is None or not stmt.op.idempotent:
        return False
    return stmt.op.selects or _is_closed(stmt)


def _repeated_operator(stmt: Update, count: Expr, strict: bool) -> Update | None:
    op, dtype = stmt.op, concrete(stmt.target.dtype)
    if op is None or op.repeated is None or dtype.kind not in _COUNTED:
        return None
    if strict and dtype.kind == "f":
        return None
    if dtype.kind != "f" and not _is_closed(stmt):
        return None
    times = cast(count, _COUNTED[dtype.kind] or dtype)
    value = cast(call(op.repeated, cast(stmt.value, dtype), times), dtype)
    return evolve(stmt, value=value)


def _is_closed(stmt: Update) -> bool:
    return stmt.op is not None and is_closed(stmt.op, concrete(stmt.target.dtype), stmt.value)


_COUNTED = {"b": INTP, "i": INTP, "u": np.dtype(np.uint64), "f": None}
"""The dtype of the number of repetitions, by kind of value (None: that of the value). Exponents
of powers of narrow integers may not fit the value's own dtype."""

LOOP_RULES: tuple[LoopRule, ...] = (
    LoopRule("last assignment", _last_assignment, "a repeated assignment is made once"),
    LoopRule(
        "idempotent once", _idempotent_once, "an idempotent operator is applied once, as in `max`"
    ),
    LoopRule(
        "repeated operator", _repeated_operator,
        "`s += x` is `s += x * n`, `s *= x` is `s *= x ** n`, `s ^= x` is made if `n` is odd",
    ),
)  # fmt: skip
"""The rules on invariant loops."""


def _is_slot(target: Access, accepting: frozenset[int]) -> bool:
    return isinstance(target.tensor, AccessSlot) and target.tensor.number in accepting
