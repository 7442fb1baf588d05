"""Sinking and dead store elimination: variables are declared where they are first assigned.

    mut t: float64 = 0.0                    for i in range(0, n):
    for i in range(0, n):                       mut t: float64 = 0.0
        t = 0.0                     ->          ...
        t = 0.0
        ...

A scalar that is declared in a loop starts anew in each iteration; as a variable local to the
loop body it does not prevent vectorisation. Only variables that the code itself declares are
moved.
"""

from __future__ import annotations

from collections.abc import Iterable

from finch_core.ir.assembly import (
    Assign,
    Block,
    Break,
    For,
    If,
    Let,
    Return,
    Statement,
    While,
    contains,
)
from finch_core.ir.assembly_rewrite import (
    own_reads,
    read_names,
    redeclared_names,
    stored_by,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Expr, Literal
from finch_core.ir.kept import kept


def sinking(block: Block, names: Names) -> Block:
    """``block`` with its mutable variables declared in the innermost block possible."""
    return _Scoped(redeclared_names(block)).block(block, set())


class _Scoped:
    def __init__(self, redeclared: frozenset[str]) -> None:
        self.redeclared = redeclared

    def block(self, block: Block, ours: set[str]) -> Block:
        """``block`` rewritten; ``ours`` are the variables declared around it."""
        done = list(block.statements)
        for let in [s for s in done if isinstance(s, Let) and self.moves(s)]:
            done = self.sunk(done, let)
        ours = ours | {s.var.name for s in done if isinstance(s, Let)} - self.redeclared
        done = self.without_overwritten(done, ours)
        inner = (with_blocks(s, tuple(self.block(b, ours) for b in s.blocks)) for s in done)
        return with_statements(block, inner)

    def moves(self, let: Let) -> bool:
        """Whether moving a declaration leaves its initial value unchanged."""
        constant = isinstance(let.value, Literal)
        return let.mutable and constant and let.var.name not in self.redeclared

    def sunk(self, statements: list[Statement], let: Let) -> list[Statement]:
        """``statements`` with ``let`` moved into the one block that uses it, if that assigns it
        first."""
        name = let.var.name
        users = [s for s in statements if s is not let and _mentions(s, name)]
        if len(users) != 1 or not isinstance(users[0], (For, While, If)):
            return statements
        (user,) = users
        if any(name in read_names(expr) for expr in user.expressions):
            return statements
        if isinstance(user, For) and any(var.name == name for var, _ in user.lanes):
            return statements
        blocks = self.using(user, name)
        if len(blocks) != 1 or not self.sets_first(blocks[0], name):
            return statements
        inside = Block((let, *blocks[0].statements))
        moved = with_blocks(user, tuple(inside if b is blocks[0] else b for b in user.blocks))
        return [moved if s is user else s for s in statements if s is not let]

    def using(self, statement: Statement, name: str) -> list[Block]:
        """The blocks of a statement that mention a variable."""
        blocks = statement.blocks
        return [b for b in blocks if any(_mentions(s, name) for s in b.statements)]

    def sets_first(self, block: Block, name: str) -> bool:
        """Whether the first use of a variable in a block is an assignment."""
        first = next(s for s in block.statements if _mentions(s, name))
        if isinstance(first, Assign):
            return first.var.name == name and name not in read_names(first.value)
        if isinstance(first, (For, While, If)):  # its blocks, recursively
            blocks = self.using(first, name)
            outside = any(name in read_names(expr) for expr in first.expressions)
            alone = not any(_mentions(s, name) for s in block.statements if s is not first)
            return not outside and alone and len(blocks) == 1 and self.sets_first(blocks[0], name)
        return False

    def without_overwritten(self, statements: list[Statement], ours: set[str]) -> list[Statement]:
        """``statements`` without dead stores: assignments that are overwritten before they are
        read."""
        k = 0
        while k < len(statements):
            first = statements[k]
            if (
                isinstance(first, (Let, Assign))
                and first.var.name in ours
                and _is_pure(first.value)
            ):
                again = self.overwriting(statements[k + 1 :], first.var.name)
                if again is not None and (isinstance(first, Assign) or first.mutable):
                    at = k + 1 + again
                    later = statements[at]
                    assert isinstance(later, Assign)
                    if isinstance(first, Let):
                        later = Let(later.var, later.value, mutable=True)
                    statements = [
                        *statements[:k],
                        *statements[k + 1 : at],
                        later,
                        *statements[at + 1 :],
                    ]
                    continue
            k += 1
        return statements

    def overwriting(self, statements: Iterable[Statement], name: str) -> int | None:
        """The position of the next assignment, if nothing before it uses the variable or leaves."""
        for k, statement in enumerate(statements):
            if isinstance(statement, Assign) and statement.var.name == name:
                return None if name in read_names(statement.value) else k
            if _mentions(statement, name):
                return None
            if _may_end(statement):
                return None
        return None


def _is_pure(value: Expr) -> bool:
    return not stored_by(value)


def _may_end(statement: Statement) -> bool:
    """Whether a break or return is in ``statement``."""
    if isinstance(statement, (Break, Return)):
        return True
    return any(contains(block, Break, Return) for block in statement.blocks)


def _mentions(statement: Statement, name: str) -> bool:
    return name in _mentioned(statement)


@kept("_mentions")
def _mentioned(statement: Statement) -> frozenset[str]:
    """The variables and buffers in ``statement``, but for what it only stores to."""
    names = own_reads(statement)
    if isinstance(statement, (Let, Assign, For)):
        names |= {statement.var.name}
    if isinstance(statement, For) and statement.lanes:
        names |= {var.name for var, _ in statement.lanes}
    inner = [_mentioned(s) for block in statement.blocks for s in block.statements]
    return names.union(*inner) if inner else names
