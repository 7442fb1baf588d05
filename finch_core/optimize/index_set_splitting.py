"""Index set splitting: a loop that stores to an element that it reads in every turn is split there.

    for j in range(0, n):                        m = min(max(k, 0), n)
        D[i * n + j] -= D[i * n + k] * x[j]      v = D[i * n + k]
                                                 for j in range(0, m):
                                        ->           D[i * n + j] -= v * x[j]
                                                 ...                            # j is k
                                                 w = D[i * n + k]
                                                 for j in range(min(max(k + 1, 0), n), n):
                                                     D[i * n + j] -= w * x[j]

Before and after that turn the element does not change, and is loaded once. C compilers may then
compute several turns at a time. Where the turn stores what is there already, as often in
``D[i, j] = min(D[i, j], D[i, k] + D[k, j])``, the loop is not split.
"""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.ir.assembly import Assign, Block, For, If, Let, Statement, Store, contains
from finch_core.ir.assembly_rewrite import (
    assigned_names,
    certain,
    changed_names,
    in_terms_of,
    read_names,
    replacing,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import BOOL
from finch_core.ir.expressions import TRUE, Buffer, Expr, Invoke, Load, Var, lift
from finch_core.ir.strides import stride_along
from finch_core.ir.typing import typed
from finch_core.looplets.routines import same_value
from finch_core.optimize.dereferenceability import Places, place_name
from finch_core.records import evolve, frozen
from finch_core.symbolic.affine import linear, total
from finch_core.symbolic.prover import Prover


def index_set_splitting(block: Block, names: Names) -> Block:
    """``block`` with innermost loops split at the element that they both read and store."""
    return _Splitting(names).block(block, Places(assigned_names(block)))


@frozen
class _Split:
    """A load that only the turn ``at`` of a loop changes."""

    load: Load
    at: Expr
    stored: Expr | None = None
    """What that turn stores, if it is known before the loop."""


class _Splitting:
    def __init__(self, names: Names) -> None:
        self._names = names

    def block(self, block: Block, places: Places) -> Block:
        done: list[Statement] = []
        for statement in block.statements:
            blocks = tuple(
                self.block(b, places.inside(statement)) if contains(b, For) else b
                for b in statement.blocks
            )
            statement = with_blocks(statement, blocks)
            found = _split(statement, places) if isinstance(statement, For) else None
            if isinstance(statement, For) and found is not None:
                done += typed(Block(tuple(self._parts(statement, found)))).statements
            else:
                done.append(statement)
            places.after(statement)
        return with_statements(block, done)

    def _parts(self, loop: For, split: _Split) -> Iterator[Statement]:
        """The turns before, at and after the one that changes the load."""
        known = Prover()
        if known.le(split.at + 1, loop.start) or known.le(loop.stop, split.at):
            yield from self._loaded_once(loop, split.load)
            return
        if split.stored is None:
            yield from self._apart(loop, split)
            return
        value = Var(self._names.fresh(place_name(split.load)), split.load.dtype)
        same = Var(self._names.fresh(f"{loop.var.name}_same"), BOOL)
        turn = Var(self._names.fresh(f"{value.name}_then"), value.type)
        there = _replaced(split.stored, {loop.var: split.at})
        stored = Let(turn, _replaced(there, {split.load: value}))
        check = Block((stored, Assign(same, same_value(turn, value))))
        inside = (loop.start <= split.at).and_(split.at < loop.stop)
        yield from (Let(value, split.load), Let(same, TRUE, mutable=True), If(inside, check))
        yield If(
            same,
            Block((with_blocks(loop, (_with(loop.body, split.load, value),)),)),
            Block(tuple(self._apart(loop, split))),
            likely=True,
        )

    def _apart(self, loop: For, split: _Split) -> Iterator[Statement]:
        first, last = (end.max(loop.start).min(loop.stop) for end in (split.at, split.at + 1))
        before = Var(self._names.fresh(f"{loop.var.name}_before"), loop.var.type)
        after = Var(self._names.fresh(f"{loop.var.name}_after"), loop.var.type)
        yield from (Let(before, first), Let(after, last))
        yield from self._loaded_once(evolve(loop, stop=before), split.load)
        yield If(before < after, Block((Let(loop.var, before), *loop.body.statements)))
        yield from self._loaded_once(evolve(loop, start=after), split.load)

    def _loaded_once(self, loop: For, load: Load) -> Iterator[Statement]:
        value = Var(self._names.fresh(place_name(load)), load.dtype)
        yield Let(value, load)
        yield with_blocks(loop, (_with(loop.body, load, value),))


def _with(body: Block, load: Load, value: Var) -> Block:
    """``body`` with a load replaced; the places that it stores to are none."""
    return replacing({load: value}).block(body)


def _replaced(expr: Expr, values: dict[Expr, Expr]) -> Expr:
    return replacing(values)(expr)


def _split(loop: For, places: Places) -> _Split | None:
    """Where to split a loop without loops in it, if there is one such place."""
    statements = loop.body.statements
    if not all(isinstance(s, (Let, Assign, Store)) for s in statements) or loop.lanes:
        return None
    if any(isinstance(e, Invoke) for s in statements for x in s.expressions for e in x.walk()):
        return None
    changed = changed_names(loop)
    stored = {s.buffer: s.index for s in statements if isinstance(s, Store)}
    if len(stored) < sum(isinstance(s, Store) for s in statements):
        return None
    found = {
        e
        for e in certain(statements)
        if isinstance(e, Load) and e.buffer in stored and not read_names(e.index) & changed
    }
    load = found.pop() if len(found) == 1 else None
    if load is None or not places.exists(load):
        return None
    index = stored[load.buffer]
    if stride_along(index, loop.var, changed - {loop.var.name}) != 1:
        return None
    at = _turn(index, load.index, loop.var)
    return None if at is None else _Split(load, at, _stored(statements, load.buffer))


def _stored(statements: tuple[Statement, ...], buffer: Buffer) -> Expr | None:
    """What a turn stores to ``buffer``, in terms of what is there before; None if it does more."""
    *lets, last = statements
    if not isinstance(last, Store) or last.buffer != buffer:
        return None
    if not all(isinstance(s, Let) and not s.mutable for s in lets):
        return None
    return in_terms_of(last.value, {s.var: s.value for s in lets if isinstance(s, Let)})


def _turn(index: Expr, place: Expr, var: Var) -> Expr | None:
    """The value of ``var`` for which ``index``, which is ``var`` and other terms, is ``place``."""
    terms = linear(index - place)
    rest = [(-factor, term) for factor, term in terms if term != var]
    if (1, var) not in terms or any(abs(factor) != 1 for factor, _ in rest):
        return None
    return lift(total(rest)) if rest else lift(0)


__all__ = ["index_set_splitting"]
