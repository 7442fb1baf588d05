"""Loop interchange: sums whose terms are contiguous from sum to sum are computed side by side.

    for i in range(0, n):                     for s in range(0, (n + 1023) // 1024):
        t = 0.0                                   for i in range(1024 * s, ...):
        for q in range(0, m):                         y[i] = 0.0
            t += A[q * n + i] * x[q]      ->      for group in range(0, (m + 31) // 32):
        y[i] = t                                      for i in range(1024 * s, ...):  # jam
                                                          t = y[i]
                                                          for q in range(32 * group, ...):
                                                              t += A[q * n + i] * x[q]
                                                          y[i] = t

Loads move by one element from sum to sum: a backend that jams the turns of ``i`` keeps some of them
in registers. Each element is computed by the same operations in the same order. Strips keep what is
updated in the cache, and groups bound the number of places from which is read at a time.

The bounds of the inner loop may depend on ``i`` near the ends of the outer one, where a condition
on ``i`` changes them; the turns for which it does stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Assign, Block, For, If, Let, Statement, Store, contains
from finch_core.ir.assembly_rewrite import (
    changed_names,
    in_terms_of,
    read_names,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Call, Cast, Expr, Invoke, Load, Var, call, lift
from finch_core.ir.typing import typed
from finch_core.optimize.invariant_code_motion import invariant_code_motion
from finch_core.records import evolve, frozen
from finch_core.symbolic.affine import linear, total

STRIP = 1024
"""Sums that are computed side by side: what they read and write stays in the first cache."""
GROUP = 32
"""Terms that are added to the sums of a strip at a time: about as many sequences of addresses are
foreseen by processors."""
FEW = 2
"""With fewer sums the loops stay as they are."""

Range = tuple[tuple[Expr, ...], tuple[Expr, ...]]
"""The lower bounds of a range, and its upper bounds."""


def loop_interchange(block: Block, names: Names) -> Block:
    """``block`` with loops exchanged where only the outer one has contiguous loads."""
    if not contains(block, For):
        return block
    done: list[Statement] = []
    for statement in block.statements:
        blocks = tuple(loop_interchange(b, names) for b in statement.blocks)
        statement = with_blocks(statement, blocks)
        sums = _sums(statement) if isinstance(statement, For) else None
        if sums is None:
            done.append(statement)
        else:
            new = typed(Block(tuple(_exchanged(sums, names))))
            done += invariant_code_motion(new, names).statements
    return with_statements(block, done)


@frozen
class _Sums:
    """A loop, each turn of which stores what its inner loop accumulates."""

    loop: For
    before: tuple[Let, ...]
    """Invariant declarations."""
    range: Range
    """The turns for which the bounds of the inner loop are invariant, if not all."""
    inner: For
    """With its bounds in terms of what is declared before the loop."""
    start: Let
    """The variable that accumulates, and what it starts from."""
    end: Store


# -- what is exchanged ----------------------------------------------------------------------


def _sums(loop: For) -> _Sums | None:
    """The sums of a loop that pays to be exchanged."""
    if len(loop.body.statements) < 3 or loop.lanes or loop.banks:
        return None
    *rest, start, inner, end = loop.body.statements
    if not (isinstance(start, Let) and isinstance(inner, For) and isinstance(end, Store)):
        return None
    if not start.mutable or end.value != start.var or end.buffer.dtype != start.var.type:
        return None
    found = _before(tuple(rest), loop)
    if found is None:
        return None
    before, range, meanings = found
    ends = [in_terms_of(bound, meanings) for bound in (inner.start, inner.stop)]
    inner = evolve(inner, start=ends[0], stop=ends[1])
    sums = _Sums(loop, before, range, inner, start, end)
    return sums if _is_legal(sums) and _pays(sums) else None


def _before(
    statements: tuple[Statement, ...], loop: For
) -> tuple[tuple[Let, ...], Range, dict[Expr, Expr]] | None:
    """The statements before the sum, taken apart: invariant declarations, the turns for which no
    condition holds, and what variables are in these turns; None if there are others."""
    changed, lets = changed_names(loop), list[Let]()
    range: Range = ((), ())
    meanings: dict[Expr, Expr] = {}
    for statement in statements:
        if isinstance(statement, Let):
            value = in_terms_of(statement.value, meanings)
            if read_names(value) & changed or _invokes(value):
                return None
            if statement.mutable or value != statement.value or isinstance(value, Var):
                meanings[statement.var] = value  # elsewhere it may be another
            else:
                lets.append(evolve(statement, value=value))
                changed -= {statement.var.name}
        elif isinstance(statement, If) and not statement.orelse:
            assigned = {s.var for s in statement.body.walk() if isinstance(s, Assign)}
            within = _outside(in_terms_of(statement.cond, meanings), loop.var, changed)
            if within is None or not assigned <= meanings.keys():
                return None
            range = (range[0] + within[0], range[1] + within[1])
        else:
            return None
    return tuple(lets), range, meanings


def _outside(cond: Expr, var: Var, changed: set[str]) -> Range | None:
    """The turns for which a disjunction of bounds on ``var`` does not hold."""
    if not isinstance(cond, Call):
        return None
    if cond.op is prim.or_:
        parts = [_outside(arg, var, changed) for arg in cond.args]
        if parts[0] is None or parts[1] is None:
            return None
        return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]
    if cond.op not in (prim.lt, prim.ge) or cond.args[0].dtype != INTP:
        return None
    index, bound = cond.args
    if _stride(index, var) != 1 or (read_names(index) - {var.name} | read_names(bound)) & changed:
        return None
    turn = lift(total(linear(bound - index + var)))
    return ((turn,), ()) if cond.op is prim.lt else ((), (turn,))


def _invokes(expr: Expr) -> bool:
    return any(isinstance(part, Invoke) for part in expr.walk())


def _is_legal(sums: _Sums) -> bool:
    """Whether each turn is independent of the others, and each term of where it is computed."""
    loop, inner, start, end = sums.loop, sums.inner, sums.start, sums.end
    outside = {let.var.name for let in sums.before}
    *lets, last = inner.body.statements or (end,)
    if not isinstance(last, Assign) or last.var != start.var or inner.lanes:
        return False
    if not all(isinstance(s, Let) and not s.mutable for s in lets):
        return False
    read = set[str]().union(*(read_names(x) for s in inner.body.statements for x in s.expressions))
    bounds = read_names(inner.start) | read_names(inner.stop)
    own = {s.var.name for s in lets if isinstance(s, Let)} | {inner.var.name, start.var.name}
    changed = changed_names(loop) - outside
    return (
        not bounds & changed
        and not read & (changed - own - {loop.var.name})
        and not read_names(end.index) & (changed - {loop.var.name})
        and not read_names(start.value) & (changed - {loop.var.name, end.buffer.name})
        and (start.value == Load(end.buffer, end.index)
             or end.buffer.name not in read_names(start.value))
        and not any(_invokes(x) for s in (start, end, *inner.body.statements)
                    for x in s.expressions)
    )  # fmt: skip


def _pays(sums: _Sums) -> bool:
    """Whether all loads are contiguous, or the same, from sum to sum, and one is not so from term
    to term."""
    lets: dict[Expr, Expr] = {
        s.var: s.value for s in sums.inner.body.statements if isinstance(s, Let)
    }
    terms = [in_terms_of(x, lets) for s in sums.inner.body.statements for x in s.expressions]
    loads = {e for x in terms for e in x.walk() if isinstance(e, Load)}
    along = {load: _stride(load.index, sums.loop.var) for load in loads}
    if not set(along.values()) <= {0, 1} or _stride(sums.end.index, sums.loop.var) != 1:
        return False
    return any(
        step == 1 and _stride(load.index, sums.inner.var) not in (0, 1)
        for load, step in along.items()
    )


def _stride(index: Expr, var: Var) -> int | None:
    """By how much an index moves with ``var``, where all else stays; None if that varies."""
    if index == var:
        return 1
    if var.name not in read_names(index):
        return 0
    if isinstance(index, Cast) and index.type == INTP:
        return _stride(index.value, var)
    if isinstance(index, Call) and index.op in (prim.add, prim.sub):
        first, second = (_stride(arg, var) for arg in index.args)
        if first is not None and second is not None:
            return first + second if index.op is prim.add else first - second
    return None


# -- what it becomes ------------------------------------------------------------------------


def _exchanged(sums: _Sums, names: Names) -> Iterator[Statement]:
    loop = sums.loop
    low, high = (Var(names.fresh(f"{loop.var.name}_{end}"), INTP) for end in ("low", "high"))
    first, last = loop.start, loop.stop
    for bound in sums.range[0]:
        first = first.max(bound)
    for bound in sums.range[1]:
        last = last.min(bound)
    found: list[Statement] = [*sums.before, Let(low, first.min(loop.stop))]
    rest = _without(loop, sums.before)
    if sums.range[0]:
        found.append(evolve(rest, stop=low))
    last = last.max(low)
    found += [Let(high, call(prim.ifelse, last - low >= FEW, last, low))]
    found += [*_strips(sums, low, high, names), evolve(rest, start=high)]
    yield If(loop.start < loop.stop, Block(tuple(found)))


def _without(loop: For, before: tuple[Let, ...]) -> For:
    """``loop`` without the declarations that now stand before it."""
    hoisted = {let.var.name for let in before}
    kept = (s for s in loop.body.statements if not isinstance(s, Let) or s.var.name not in hoisted)
    return evolve(loop, body=with_statements(loop.body, kept))


def _strips(sums: _Sums, low: Var, high: Var, names: Names) -> Iterator[Statement]:
    """The sums from ``low`` up to ``high``, strip by strip."""
    name, var = sums.loop.var.name, sums.loop.var
    strip, start, stop = (
        Var(names.fresh(f"{name}_{what}"), INTP) for what in ("strip", "start", "stop")
    )
    body: list[Statement] = [
        Let(start, low + strip * STRIP),
        Let(stop, (start + STRIP).min(high)),
    ]
    if sums.start.value != Load(sums.end.buffer, sums.end.index):
        first = evolve(sums.end, value=sums.start.value)
        body.append(For(var, start, stop, Block((first,))))
    body.append(_groups(sums, start, stop, names))
    yield For(strip, lift(0), (high - low + (STRIP - 1)) // STRIP, Block(tuple(body)))


def _groups(sums: _Sums, start: Expr, stop: Expr, names: Names) -> Statement:
    """The terms of the sums from ``start`` up to ``stop``, some for all of these, then others."""
    inner = sums.inner
    group, begin, end = (
        Var(names.fresh(f"{inner.var.name}_{what}"), INTP) for what in ("group", "begin", "end")
    )
    bounds = (
        Let(begin, inner.start + group * GROUP),
        Let(end, (begin + GROUP).min(inner.stop)),
    )
    sofar = evolve(sums.start, value=Load(sums.end.buffer, sums.end.index))
    turn = Block((sofar, evolve(inner, start=begin, stop=end), sums.end))
    each = For(sums.loop.var, start, stop, turn, jam=True)
    count = (inner.stop - inner.start + (GROUP - 1)) // GROUP
    return For(group, lift(0), count, Block((*bounds, each)))


__all__ = ["loop_interchange"]
