"""Histogram privatisation: scattered sums over few elements may use several private copies.

    for x in range(0, n):                           if n >= 16:
        at: int64 = int64(grey[x] // 16)    ->          for x in range(0, n):  # banks: bins[0:16]
        bins[at] += 1                                       ...
                                                    else: ...

Updating an element that was just stored waits for that store, and equal indices often follow
one another. With a few copies used in rotation, each copy is updated less often. The range of
the index (``ranges``) gives the number of elements; copies pay if there are at least as many
iterations. Only integers are summed in this way, since their sums do not depend on the order.
"""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.ir.assembly import (
    Block,
    Fail,
    Fill,
    For,
    Grow,
    If,
    Let,
    Move,
    Parallel,
    Return,
    Sort,
    Statement,
    Store,
    Swap,
    contains,
)
from finch_core.ir.assembly_rewrite import (
    changed_names,
    in_terms_of,
    read_names,
    redeclared_names,
    summand,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Buffer, Expr, Literal, Load
from finch_core.records import evolve
from finch_core.symbolic.ranges import range_of

MOST = 256
"""The largest number of elements for which copies pay."""


def privatization(block: Block, names: Names) -> Block:
    """``block`` with privatisation permitted in the outermost loops where it pays."""
    if not contains(block, For):
        return block
    done: list[Statement] = []
    for statement in block.statements:
        found = _scattered(statement) if isinstance(statement, For) else {}
        if found:
            assert isinstance(statement, For)
            marked = evolve(statement, banks=tuple(found.items()))
            done.append(_where_long(statement, marked, sum(found.values())))
        else:
            blocks = tuple(privatization(b, names) for b in statement.blocks)
            done.append(with_blocks(statement, blocks))
    return with_statements(block, done)


def _where_long(loop: For, marked: For, count: int) -> Statement:
    """``marked`` if there are at least ``count`` iterations, those of a loop inside counted, else
    ``loop``."""
    iterations = loop.stop - loop.start
    for inner in loop.body.statements:
        if isinstance(inner, For) and not _bounds(inner) & changed_names(loop):
            iterations = iterations * (inner.stop - inner.start)
            break
    if isinstance(iterations, Literal):
        return marked if iterations.value >= count else loop
    return If(iterations >= Literal(count, INTP), Block((marked,)), Block((loop,)))


def _bounds(loop: For) -> frozenset[str]:
    return read_names(loop.start) | read_names(loop.stop)


def _scattered(loop: For) -> dict[Buffer, int]:
    """The buffers to which ``loop`` only adds integers at loaded indices, with their number of
    elements."""
    inside = list(loop.walk())
    if any(isinstance(s, (Fail, Return, Parallel)) for s in inside) or loop.banks:
        return {}
    stores = [s for s in inside if isinstance(s, Store)]
    twice = redeclared_names(loop.body)
    lets = (s for s in inside if isinstance(s, Let) and not s.mutable)
    meanings: dict[Expr, Expr] = {s.var: s.value for s in lets if s.var.name not in twice}
    found: dict[Buffer, int] = {}
    for buffer in dict.fromkeys(s.buffer for s in stores):
        counts = [_count(s, meanings) for s in stores if s.buffer == buffer]
        if None not in counts and not any(buffer.name in _others(s, buffer) for s in inside):
            found[buffer] = max(count for count in counts if count is not None)
    return found


def _count(store: Store, meanings: dict[Expr, Expr]) -> int | None:
    """How many elements a scattered integer sum may update; None for any other store."""
    if store.buffer.dtype.kind not in "iu" or summand(store) is None:
        return None
    if not any(isinstance(e, Load) for e in in_terms_of(store.index, meanings).walk()):
        return None
    bounds = range_of(store.index, meanings)
    if bounds is None or bounds[0] < 0 or bounds[1] >= MOST:
        return None
    return bounds[1] + 1


def _others(statement: Statement, buffer: Buffer) -> set[str]:
    """Names that ``statement`` uses, except for the element of ``buffer`` to which it adds."""
    added = summand(statement) if isinstance(statement, Store) else None
    expressions: tuple[Expr, ...] = statement.expressions
    if isinstance(statement, Store) and statement.buffer == buffer and added is not None:
        expressions = (statement.index, added)
    return set(_whole(statement)).union(*map(read_names, expressions))


def _whole(statement: Statement) -> Iterator[str]:
    """Names of the buffers that a statement accesses by range: fills, copies, growth."""
    if isinstance(statement, (Grow, Fill, Sort)):
        yield statement.buffer.name
    if isinstance(statement, Move):
        yield from (statement.target.name, statement.source.name)
    if isinstance(statement, Swap):
        yield from (statement.first.name, statement.second.name)
