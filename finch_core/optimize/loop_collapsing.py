"""Loop collapsing: loops over rows that lie one behind another in memory are one loop.

    for i in range(a, b):
        for j in range(0, n):             ->      for k in range(a * n, max(a, b) * n):
            v[i * n + j] *= 2.0                       v[k] *= 2.0

The inner loop must be all that the outer one does, and use ``i`` and ``j`` in ``i * n + j`` alone,
or with numbers added. Lengths that checks of the kernel found equal are one. Loops over short rows
have many ends, which the processor cannot foresee, and remainders that are not vectors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Block, Comment, For, Statement, contains, is_left
from finch_core.ir.assembly_rewrite import (
    EqualNames,
    Substitution,
    changed_names,
    read_names,
    renamed,
    used_in,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Call, Cast, Expr, Literal, Var, call
from finch_core.ir.typing import typed
from finch_core.symbolic.ranges import range_of

ZERO = Literal(0, INTP)
PLACE = Var("(place)", INTP)
"""An element of the rows, while ``i`` and ``j`` may be left."""


def loop_collapsing(block: Block, names: Names) -> Block:
    """``block`` with loops over contiguous rows collapsed."""
    if not contains(block, For):
        return block
    collapsing, done = _Collapsing(block, names), list[Statement]()
    for statement in block.statements:
        collapsing.equal.passed(statement)
        done.append(collapsing.statement(statement))
    return with_statements(block, done)


class _Collapsing:
    def __init__(self, kernel: Block, names: Names) -> None:
        self.names, self.equal = names, EqualNames(kernel)

    def block(self, block: Block) -> Block:
        if not contains(block, For):
            return block
        return with_statements(block, map(self.statement, block.statements))

    def statement(self, statement: Statement) -> Statement:
        if isinstance(statement, For):
            loop = self.one_loop(statement)
            if loop is not None:
                (statement,) = typed(Block((loop,))).statements
        return with_blocks(statement, tuple(map(self.block, statement.blocks)))

    def one_loop(self, outer: For) -> For | None:
        """A loop over the elements of the rows over which ``outer`` and the loop in it run; None
        where these are not one behind another."""
        inner = _lone_loop(outer)
        if inner is None or is_left(inner.body):
            return None
        inner = self.one_loop(inner) or inner
        length = inner.stop
        old = {outer.var.name, inner.var.name}
        if inner.start != ZERO or _reads_memory(length):
            return None
        if not (old | changed_names(outer)).isdisjoint(read_names(length)):
            return None
        body = Substitution(_Rows(self, outer.var, inner).flat, None, old).block(inner.body)
        if not old.isdisjoint(used_in(body)):
            return None
        body = renamed(body, {PLACE.name: inner.var})
        start, stop = _times(outer.start, length), _times(self.least_stop(outer), length)
        return For(inner.var, start, stop, body, inner.lanes, loose=outer.loose or inner.loose)

    def least_stop(self, loop: For) -> Expr:
        """The stop of a loop, or its start if that is greater."""
        stop, bounds = loop.stop, range_of(loop.stop, {})
        is_length = isinstance(stop, Var) and stop.name in self.names.lengths
        if loop.start == ZERO and (is_length or (bounds is not None and bounds[0] >= 0)):
            return stop
        return call(prim.maximum_, loop.start, stop)

    def factors(self, expr: Expr, stop: bool = False) -> Iterator[Expr]:
        """The factors of a product. A ``stop`` that is ``max(0, n)`` is ``n`` where there is a
        turn; an index is not."""
        if isinstance(expr, Call) and expr.op is prim.mul:
            for arg in expr.args:
                yield from self.factors(arg, stop)
        elif stop and isinstance(expr, Call) and expr.op is prim.maximum_ and expr.args[0] == ZERO:
            yield from self.factors(expr.args[1], stop)
        elif isinstance(expr, Var):
            yield self.equal.first.get(expr.name, expr)
        else:
            yield expr


class _Rows:
    """Rewrites ``i * n + j`` as ``PLACE``, of loops over ``i`` and, within, ``j`` below ``n``."""

    def __init__(self, collapsing: _Collapsing, i: Var, inner: For) -> None:
        self.collapsing, self.length = collapsing, inner.stop
        self.i, self.j = i, inner.var
        self.factors = Counter(collapsing.factors(inner.stop, stop=True))

    def flat(self, expr: Expr) -> Expr | None:
        terms = list(_terms(expr))
        if self.j not in terms:
            return None
        terms.remove(self.j)
        for n, term in enumerate(terms):
            ahead = self._rows_ahead(term)
            if ahead is not None:
                found: Expr = PLACE
                for other in (*reversed(terms[n + 1 :]), *reversed(ahead), *reversed(terms[:n])):
                    found = call(prim.add, other, found)
                return found
        return None

    def _rows_ahead(self, term: Expr) -> list[Expr] | None:
        """What comes before ``i * n`` in a term that is that, or ``(c + i) * n``; None for another
        term."""
        factors = Counter(self.collapsing.factors(term))
        rest = list((factors - self.factors).elements())
        if self.factors - factors or len(rest) != 1:
            return None
        before = list(_terms(rest[0]))
        if self.i not in before:
            return None
        before.remove(self.i)
        return [call(prim.mul, c, self.length) for c in before]


def _lone_loop(outer: For) -> For | None:
    """The loop that is all that a loop does."""
    statements = [s for s in outer.body.statements if not isinstance(s, Comment)]
    if outer.lanes or outer.banks or outer.jam or len(statements) != 1:
        return None
    (inner,) = statements
    return inner if isinstance(inner, For) and not inner.banks and not inner.jam else None


def _times(count: Expr, length: Expr) -> Expr:
    return ZERO if count == ZERO else call(prim.mul, count, length)


def _terms(expr: Expr) -> Iterator[Expr]:
    """The terms of a sum of indices."""
    if isinstance(expr, Call) and expr.op is prim.add and expr.dtype == INTP:
        for arg in expr.args:
            yield from _terms(arg)
    else:
        yield expr


def _reads_memory(expr: Expr) -> bool:
    return any(not isinstance(e, (Var, Literal, Call, Cast)) for e in expr.walk())
