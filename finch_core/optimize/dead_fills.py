"""Dead fill elimination: capacity is not filled where each element is stored before it is counted.

    if stored >= room:                        if stored >= room:
        more = max(room * 2, 4)                   more = max(room * 2, 4)
        grow(val, more)                           grow(val, more)
        fill(val, room, more, 0.0)    ->          room = more
        room = more                           val[stored] = 0.0 + a * b
    val[stored] += a * b                      stored += 1
    stored += 1

What is appended may also be a run of elements, which a loop stores, behind others that are skipped:

    if beyond - 1 >= room: ...                if beyond - 1 >= room: ...
        fill(val, room, more, 0.0)    ->
    for j in range(begin, stop):              fill(val, stored, stored + gap, 0.0)
        val[pos + (j - begin)] = x[j]         for j in range(begin, stop): ...
    stored = beyond                           stored = beyond

with ``pos = stored + gap`` and ``beyond = pos + (stop - begin)``. Stores to all elements from the
counter on, but those that are skipped, must dominate each change of the counter, so that no element
below the counter still holds the fill value otherwise; and nothing else may access the buffer. The
counter is presumed not to fall: what is skipped was not stored to before.
"""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Assign,
    Block,
    Fill,
    For,
    Grow,
    If,
    Let,
    Move,
    Parallel,
    Statement,
    Store,
)
from finch_core.ir.assembly_rewrite import (
    changed_names,
    in_terms_of,
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
from finch_core.symbolic.affine import collected, linear
from finch_core.symbolic.simplifier import folded

ONE = Literal(1, INTP)


def dead_fills(block: Block, names: Names) -> Block:
    """``block`` without fills of capacity that is stored to before it is counted."""
    buffers = dict.fromkeys(s.buffer for s in block.walk() if isinstance(s, Fill))
    for buffer in buffers:
        block = _without_fills(block, buffer)
    return block


Definitions = dict[Expr, Expr]
"""Variables and what they stand for, in terms of variables that hold the same values there."""


@frozen
class _Run:
    """The elements that a statement stores, each of them and each once: from ``start``, up to
    ``stop``, which is not among them. ``known`` are the definitions that hold before it."""

    whole: Statement
    store: Store
    start: Expr
    stop: Expr
    known: Definitions


@frozen
class _Append:
    """The statements that append elements: the fill of new capacity, the stores and the
    increment."""

    fill: Fill
    run: _Run
    count: Assign
    gap: Fill | None
    """Fills the elements that are skipped between the counter and the first that is stored."""

    @property
    def counter(self) -> Var:
        return self.count.var


def _without_fills(block: Block, buffer: Buffer) -> Block:
    """``block`` without fills of ``buffer``, if it only appends to ``buffer``."""
    found = list(_appends(block, buffer))
    counters = {append.counter for append in found}
    if len(counters) != 1 or not _is_all(block, buffer, found, counters.pop()):
        return block
    fills = {id(append.fill) for append in found}
    runs = {id(append.run.whole): append for append in found}
    values: dict[int, Literal] = {id(a.run.store): a.fill.value for a in found}  # type: ignore[misc]

    def rewritten(block: Block) -> Block:
        done: list[Statement] = []
        for statement in block.statements:
            if id(statement) in fills:
                continue
            append = runs.get(id(statement))
            if append is not None and append.gap is not None:
                done.append(append.gap)
            if id(statement) in values:
                assert isinstance(statement, Store)
                place: Definitions = {Load(buffer, statement.index): values[id(statement)]}
                statement = replacing(place, folded).statement(statement)
            done.append(with_blocks(statement, tuple(map(rewritten, statement.blocks))))
        return with_statements(block, done)

    return rewritten(block)


def _appends(block: Block, buffer: Buffer) -> Iterator[_Append]:
    """The appends to ``buffer`` in ``block`` and its nested blocks."""
    fills = {k: _filled(s, buffer) for k, s in enumerate(block.statements)}
    known: Definitions = {}
    for k, statement in enumerate(block.statements):
        for inner in statement.blocks:
            yield from _appends(inner, buffer)
        if any(fills.values()):
            known = _defined(known, statement)
        fill = fills[k]
        if fill is not None:
            append = _append(fill, block.statements[k + 1 :], known)
            if append is not None:
                yield append


def _defined(known: Definitions, statement: Statement) -> Definitions:
    """The definitions that hold after ``statement``."""
    changed = changed_names(statement)
    after = {
        var: value for var, value in known.items()
        if not changed & (read_names(var) | read_names(value))
    }  # fmt: skip
    if isinstance(statement, Let) and statement.var.name not in read_names(statement.value):
        after[statement.var] = in_terms_of(statement.value, after)
    return after


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


def _append(fill: Fill, rest: tuple[Statement, ...], known: Definitions) -> _Append | None:
    """The append that begins with ``fill``, if ``rest`` stores elements and then counts them."""
    run: _Run | None = None
    for statement in rest:
        if run is None:
            run = _run(statement, fill.buffer, known)
            if run is None and isinstance(statement, If) and not statement.orelse:
                append = _append(fill, statement.body.statements, known)
                if append is not None:
                    return append
        elif isinstance(statement, Assign) and _same(in_terms_of(statement.value, known), run.stop):
            return _counted(fill, run, statement)
        elif changed_names(statement) & (read_names(run.start) | read_names(run.stop)):
            return None
        if leaves(statement):
            return None
        known = _defined(known, statement)
    return None


def _run(statement: Statement, buffer: Buffer, known: Definitions) -> _Run | None:
    """The elements of ``buffer`` that ``statement`` stores: one, or one in each turn of a loop."""
    if isinstance(statement, Store) and statement.buffer == buffer:
        index = in_terms_of(statement.index, known)
        return _Run(statement, statement, index, index + ONE, known)
    if not isinstance(statement, For) or statement.loose:
        return None
    inside = _defined(known, statement)
    for part in statement.body.statements:
        if leaves(part):
            return None
        if isinstance(part, Store) and part.buffer == buffer:
            break
        inside = _defined(inside, part)
    else:
        return None
    if any(map(leaves, statement.body.statements)):
        return None
    index, var = in_terms_of(part.index, inside), statement.var
    if changed_names(*statement.body.statements) & (read_names(index) - {var.name}):
        return None
    terms = linear(index)
    if [by for by, term in terms if var.name in read_names(term)] != [1] or (1, var) not in terms:
        return None
    ends = (in_terms_of(end, known) for end in (statement.start, statement.stop))
    start, stop = (collected(replacing({var: end})(index)) for end in ends)
    return _Run(statement, part, start, stop, known)


def _same(one: Expr, other: Expr) -> bool:
    """Whether two expressions have one value, as far as their linear forms tell."""
    return one == other or (one.dtype == other.dtype and not linear(one - other))


def _counted(fill: Fill, run: _Run, count: Assign) -> _Append | None:
    """The append of ``run`` that ends with ``count``.

    What is skipped before the run is filled, unless the run begins at the counter.
    """
    counter = count.var
    if _same(run.start, counter):
        return _Append(fill, run, count, None)
    if (1, counter) not in linear(run.start):
        return None
    start, stop = (_named(end, run.known) for end in (run.start, run.stop))
    return _Append(fill, run, count, Fill(fill.buffer, counter, start.min(stop), fill.value))


def _named(value: Expr, known: Definitions) -> Expr:
    """The variable that holds ``value``, if there is one."""
    return next((var for var, known_value in known.items() if _same(known_value, value)), value)


def _is_all(block: Block, buffer: Buffer, appends: list[_Append], counter: Var) -> bool:
    """Whether ``appends`` are the only accesses to the buffer and the only changes of its
    counter."""
    known = {id(part) for a in appends for part in (a.fill, a.run.store, a.count)}
    declared = {s.var for s in block.walk() if isinstance(s, Let)}
    if not declared.issuperset({counter, *(append.fill.start for append in appends)}):
        return False  # the caller keeps such a variable, and it tells the next call what is filled
    if sum(id(statement) in known for statement in block.walk()) != 3 * len(appends):
        return False  # a part of an append also occurs elsewhere
    for statement in block.walk():
        expressions = statement.expressions
        if id(statement) in known:
            if isinstance(statement, Store):
                own = replacing({Load(buffer, statement.index): statement.index})
                expressions = tuple(map(own, expressions))
        elif _touches(statement, buffer, counter):
            return False
        if any(buffer.name in read_names(expr) for expr in expressions):
            return False
    return True


def _touches(statement: Statement, buffer: Buffer, counter: Var) -> bool:
    """Whether a statement changes elements of the buffer, copies others than those that are
    counted, or assigns the counter."""
    if isinstance(statement, Move) and statement.source == buffer:
        return statement.begin != Literal(0, INTP) or statement.count != counter
    if isinstance(statement, Parallel):  # each part declares its counters
        return buffer in statement.shared
    changed = set() if isinstance(statement, (Grow, Let)) else own_changes(statement)
    return bool(changed & {buffer.name, counter.name})
