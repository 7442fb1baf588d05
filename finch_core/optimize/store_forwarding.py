"""Store-to-load forwarding of fills: loads become the fill value, and overwritten fills go away.

    fill(y_val, 0, n, 0.0)
    for i in range(0, n):                    for i in range(0, n):
        mut s: float64 = y_val[i]     ->         mut s: float64 = 0.0
        ...                                      ...
        y_val[i] = s                             y_val[i] = s

The statements after the fill must store every element on every path: in a loop over all of
them, or in several loops and single iterations (as where a border is peeled off) that leave no
gap. A fill of ``n * m`` elements may be overwritten row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Assign,
    Block,
    Break,
    Fill,
    For,
    If,
    Let,
    Move,
    Return,
    Statement,
    Store,
    While,
    contains,
)
from finch_core.ir.assembly_rewrite import (
    Substitution,
    assigned_names,
    changed_names,
    own_changes,
    read_names,
    redeclared_names,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Call, Expr, Invoke, Length, Load, Overlaps, lift
from finch_core.optimize.polynomial import Polynomial, polynomial, product
from finch_core.symbolic.prover import Prover
from finch_core.symbolic.simplifier import folded

ZERO = lift(0)


def store_forwarding(block: Block, names: Names) -> Block:
    """``block`` without the fills that later stores overwrite completely."""
    return _fills(block, assigned_names(block) | redeclared_names(block))


def _fills(block: Block, varying: frozenset[str]) -> Block:
    if not contains(block, Fill):
        return block
    statements = [
        with_blocks(s, tuple(_fills(inner, varying) for inner in s.blocks))
        for s in block.statements
    ]
    k = 0
    while k < len(statements):
        statement = statements[k]
        if isinstance(statement, Fill):
            overwriting = _Overwriting(statement, varying)
            for earlier in statements[:k]:
                if isinstance(earlier, Let) and not _reads_any(earlier, varying):
                    overwriting.define(earlier)
            taken_over = overwriting.all_of(statements[k + 1 :])
            if taken_over is not None:
                statements[k:] = taken_over
                continue
        k += 1
    return with_statements(block, statements)


def _reads_any(statement: Let, varying: frozenset[str]) -> bool:
    """Whether a variable, or what it was computed from, may have changed in the meantime."""
    value = statement.value
    loads = any(isinstance(node, (Load, Invoke)) for node in value.walk())
    return loads or bool(({statement.var.name} | read_names(value)) & varying)


Extents = tuple[tuple[Expr, Expr], ...]
"""The range still to be stored in each dimension, outermost first: start and stop."""


class _Overwriting:
    """Whether statements overwrite everything that ``fill`` fills, and the statements without it.

    ``varying`` are the names whose values may change.
    """

    def __init__(self, fill: Fill, varying: frozenset[str]) -> None:
        self._fill = fill
        self._buffer = fill.buffer
        self._prover = Prover()
        self._held = read_names(fill.stop) | read_names(fill.value)
        self._varying = varying - self._held
        self._unfilled = Substitution(
            lambda e: fill.value if self._is_load(e) else None, folded, {fill.buffer.name}
        )

    def define(self, statement: Statement) -> None:
        """Know what a variable stands for whose value does not change."""
        if isinstance(statement, Let) and statement.var.name not in self._varying:
            self._prover.define(statement.var, statement.value)

    def all_of(self, statements: Sequence[Statement]) -> list[Statement] | None:
        """``statements`` rewritten so that they do not need the fill, or None if they need it."""
        extents: Extents = ((self._fill.start, self._fill.stop),)
        found = self._part(statements, ZERO, extents, outermost=True)
        stop, *row = _factors(self._fill.stop)
        start = _quotient(self._fill.start, row)
        if found is None and row and start is not None:
            extents = ((start, stop), *((ZERO, factor) for factor in row))
            found = self._part(statements, ZERO, extents, outermost=True)
        return found

    def _part(
        self,
        statements: Sequence[Statement],
        place: Expr,
        extents: Extents,
        outermost: bool = False,
    ) -> list[Statement] | None:
        """``statements`` rewritten, if they store all of ``extents`` from ``place`` on; else
        None."""
        if not extents:
            return self._element(statements, place)
        (reached, goal), *inner = extents
        done: list[Statement] = []
        for statement in statements:
            if self._prover.le(goal, reached):
                break
            if not self._continues(statement, place):
                return None
            if self._accesses(statement):
                piece = self._next_part(statement, place, ((reached, goal), *inner), outermost)
                if piece is None:
                    return None
                statement, reached = piece
            else:
                self.define(statement)
            done.append(statement)
        if not self._prover.le(goal, reached):
            return None
        rest = statements[len(done) :]
        return [*done, *rest] if outermost or self._goes_on(rest) else None

    def _next_part(
        self, statement: Statement, place: Expr, extents: Extents, outermost: bool
    ) -> tuple[Statement, Expr] | None:
        """The statement that stores the next part, rewritten, and the end of what it stores."""
        (reached, goal), *inner = extents
        if isinstance(statement, If) and statement.orelse:
            either = self._both_branches(statement, place, extents, outermost)
            return None if either is None else (either, goal)
        bounds = _loop_bounds(statement)
        if bounds is None or not self._is_fixed(*bounds):
            return None
        start, stop = bounds
        if not self._leaves_no_gap(reached, start, goal):
            return None
        if self._loads(statement) and not self._prover.le(reached, start):
            return None  # an element that was stored before no longer holds the fill value
        end = self._prover.maximum(reached, stop)
        if isinstance(statement, If) and not self._prover.le(stop, start + 1):
            if not self._prover.le(goal, stop):
                return None
            end = start + 1  # where the test fails, nothing is left to store
        at = statement.var if isinstance(statement, For) else start
        place = place + product((at, *(stop for _, stop in inner)))
        body, *others = statement.blocks
        with self._prover.assuming():
            new = self._part(body.statements, place, tuple(inner), outermost=False)
        if new is None:
            return None
        return with_blocks(statement, (with_statements(body, new), *others)), end

    def _leaves_no_gap(self, reached: Expr, start: Expr, goal: Expr) -> bool:
        """Whether what begins at ``start`` follows what is stored, or nothing is left to store:
        ``min(start, goal) <= reached``."""
        least = self._prover.minimum
        return all(
            self._prover.le(way, reached) or self._prover.le(least(way, goal), reached)
            for way in self._prover.greatest_of(start)
        )

    def _both_branches(
        self, statement: If, place: Expr, extents: Extents, outermost: bool
    ) -> Statement | None:
        """``statement`` rewritten, if both branches store all of ``extents``; else None."""
        if self._buffer.name in read_names(statement.cond):
            return None
        blocks = []
        for block in statement.blocks:
            with self._prover.assuming():
                new = self._part(block.statements, place, extents, outermost=outermost)
            if new is None:
                return None
            blocks.append(with_statements(block, new))
        return with_blocks(statement, tuple(blocks))

    def _element(self, statements: Sequence[Statement], place: Expr) -> list[Statement] | None:
        """``statements`` rewritten, if they store the element at ``place`` and access no other."""
        at = polynomial(place)
        done: list[Statement] = []
        for k, statement in enumerate(statements):
            if not self._continues(statement, place):
                return None
            if isinstance(statement, Store) and statement.buffer == self._buffer:
                rest = statements[k + 1 :]
                if any(found != at for s in statements for found in self._places(s)):
                    return None
                if any(map(breaks, rest)):
                    return None
                return [*done, self._unfilled.statement(statement), *rest]
            if self._accesses(statement):
                if isinstance(statement, If) and statement.orelse:
                    either = self._both_branches(statement, place, (), outermost=False)
                    rest = statements[k + 1 :]
                    if either is None or not self._goes_on(rest):
                        return None
                    return [*done, either, *rest]
                if not isinstance(statement, (Let, Assign)):
                    return None
                statement = self._unfilled.statement(statement)
            done.append(statement)
        return None

    # -- accesses -------------------------------------------------------------------------------

    def _goes_on(self, rest: Sequence[Statement]) -> bool:
        """Whether the loop around ``rest``, which follows what stores an element, comes to its next
        turn without another access."""
        return not any(self._accesses(statement) or breaks(statement) for statement in rest)

    def _continues(self, statement: Statement, place: Expr) -> bool:
        """Whether control continues after ``statement``, which changes no name that is relied
        on."""
        return not breaks(statement) and not changed_names(statement) & (
            self._held | read_names(place)
        )

    def _is_fixed(self, *exprs: Expr) -> bool:
        return not any(
            isinstance(node, (Load, Invoke)) or read_names(expr) & self._varying
            for expr in exprs
            for node in expr.walk()
        )

    def _is_load(self, expr: Expr) -> bool:
        return isinstance(expr, Load) and expr.buffer == self._buffer

    def _loads(self, statement: Statement) -> bool:
        return any(
            self._is_load(node)
            for inner in statement.walk()
            for expr in inner.expressions
            for node in expr.walk()
        )

    def _accesses(self, statement: Statement) -> bool:
        return any(True for _ in self._places(statement))

    def _places(self, statement: Statement) -> Iterator[Polynomial | None]:
        """The index of each load and store of the buffer; None for an access of any other kind."""
        name = self._buffer.name
        for inner in statement.walk():
            if isinstance(inner, Store) and inner.buffer == self._buffer:
                yield polynomial(inner.index)
            elif name in own_changes(inner) or (
                isinstance(inner, Move) and inner.source.name == name
            ):
                yield None
            for expr in inner.expressions:
                for node in expr.walk():
                    if isinstance(node, Load) and node.buffer == self._buffer:
                        yield polynomial(node.index)
                    elif isinstance(node, (Invoke, Length, Overlaps)) and name in read_names(node):
                        yield None


def breaks(statement: Statement) -> bool:
    """Whether ``statement`` may leave the loop that contains it."""
    if isinstance(statement, (Break, Return)):
        return True
    if isinstance(statement, (For, While)):
        return any(contains(block, Return) for block in statement.blocks)
    return any(breaks(inner) for block in statement.blocks for inner in block.statements)


def _factors(expr: Expr) -> tuple[Expr, ...]:
    """The factors of a size that is a product."""
    if isinstance(expr, Call) and expr.op is prim.mul:
        return tuple(factor for arg in expr.args for factor in _factors(arg))
    return (expr,)


def _quotient(expr: Expr, row: list[Expr]) -> Expr | None:
    """What times the factors of ``row`` is ``expr``: zero, or its first factor; else None."""
    if not polynomial(expr):
        return ZERO
    first, *others = _factors(expr)
    return first if others == row else None


def _loop_bounds(statement: Statement) -> tuple[Expr, Expr] | None:
    """The bounds of a loop; ``if a < b`` counts as the first iteration of one."""
    if isinstance(statement, For):
        return statement.start, statement.stop
    cond = statement.cond if isinstance(statement, If) else None
    if isinstance(cond, Call) and cond.op in (prim.lt, prim.gt):
        low, high = cond.args if cond.op is prim.lt else reversed(cond.args)
        return low, high
    return None
