"""Taking assembly apart and putting it together: what its passes share.

Unchanged means the identical object, here as in every pass that is built on this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from finch_core.assembly import (
    Assign,
    Block,
    Fail,
    Fill,
    For,
    Grow,
    If,
    Let,
    Move,
    Return,
    Sort,
    Statement,
    Store,
    While,
)
from finch_core.expressions import Buffer, Expr, Invoke, Load, Var

_EXPRESSIONS: dict[type[Statement], tuple[str, ...]] = {
    Let: ("value",),
    Assign: ("value",),
    Store: ("index", "value"),
    For: ("start", "stop"),
    While: ("cond",),
    If: ("cond",),
    Grow: ("size",),
    Fill: ("start", "stop", "value"),
    Move: ("to", "begin", "count"),
    Sort: ("start", "stop"),
    Return: ("value",),
}
_BLOCKS: dict[type[Statement], tuple[str, ...]] = {
    For: ("body",),
    While: ("body",),
    If: ("body", "orelse"),
}


def _changed(olds: Iterable[Any], news: Iterable[Any]) -> bool:
    return any(old is not new for old, new in zip(olds, news, strict=True))


def with_expressions(statement: Statement, expressions: tuple[Expr, ...]) -> Statement:
    """``statement`` over other expressions, in the order of ``statement.expressions``."""
    if not _changed(statement.expressions, expressions):
        return statement
    if isinstance(statement, Fail):
        return Fail(statement.site, expressions)
    names = _EXPRESSIONS[type(statement)]
    return attrs.evolve(statement, **dict(zip(names, expressions, strict=True)))  # type: ignore[misc]


def with_blocks(statement: Statement, blocks: tuple[Block, ...]) -> Statement:
    """``statement`` over other blocks, in the order of ``statement.blocks``."""
    if not _changed(statement.blocks, blocks):
        return statement
    names = _BLOCKS[type(statement)]
    return attrs.evolve(statement, **dict(zip(names, blocks, strict=True)))  # type: ignore[misc]


def with_statements(block: Block, statements: Iterable[Statement]) -> Block:
    """``block`` of other statements."""
    new = tuple(statements)
    if len(new) == len(block.statements) and not _changed(block.statements, new):
        return block
    return Block(new)


def with_children(expr: Expr, children: tuple[Expr, ...]) -> Expr:
    """``expr`` over other operands."""
    return expr.rebuild(children) if _changed(expr.children, children) else expr


class Substitution:
    """Replaces expressions, from the top down; memoised, so that it is linear in shared nodes."""

    def __init__(self, replace: Callable[[Expr], Expr | None]) -> None:
        self._replace = replace
        self._memo: dict[Expr, Expr] = {}

    def __call__(self, expr: Expr) -> Expr:
        """``expr`` with every node for which ``replace`` gives something replaced by that."""
        found = self._memo.get(expr)
        if found is None:
            found = self._replace(expr)
            if found is None:
                found = with_children(expr, tuple(map(self, expr.children)))
            self._memo[expr] = found
        return found

    def block(self, block: Block) -> Block:
        """All of ``block`` with its expressions replaced."""
        return with_statements(block, map(self.statement, block.statements))

    def statement(self, statement: Statement) -> Statement:
        statement = with_expressions(statement, tuple(map(self, statement.expressions)))
        return with_blocks(statement, tuple(map(self.block, statement.blocks)))


# -- what a statement touches ---------------------------------------------------------------


def nodes(statement: Statement) -> Iterator[Expr]:
    """All expressions in ``statement`` and what it contains."""
    for inner in statement.walk():
        for expr in inner.expressions:
            yield from expr.walk()


def changed_buffers(statement: Statement) -> set[str]:
    """Names of the buffers that ``statement`` itself changes, its blocks left aside."""
    if isinstance(statement, (Store, Grow, Fill, Sort)):
        names = {statement.buffer.name}
    elif isinstance(statement, Move):
        names = {statement.target.name}
    else:
        names = set()
    for expr in statement.expressions:
        names |= invoked_buffers(expr)
    return names


def invoked_buffers(expr: Expr) -> set[str]:
    """Names of the buffers handed to functions in ``expr``, which may change them."""
    return {
        arg.name
        for node in expr.walk()
        if isinstance(node, Invoke)
        for arg in node.args
        if isinstance(arg, Buffer)
    }


def changed_variables(statement: Statement) -> set[str]:
    """Names of the variables that ``statement`` itself declares or assigns."""
    return {statement.var.name} if isinstance(statement, (Let, Assign, For)) else set()


def variables(expr: Expr) -> set[str]:
    """Names of the variables that ``expr`` reads."""
    return {node.name for node in expr.walk() if isinstance(node, Var)}


def loaded_buffers(expr: Expr) -> set[str]:
    """Names of the buffers that ``expr`` loads from."""
    return {node.buffer.name for node in expr.walk() if isinstance(node, Load)}


def names_in(block: Block) -> set[str]:
    """All names of variables and buffers in ``block``."""
    names: set[str] = set()
    for statement in block.walk():
        names |= changed_variables(statement) | changed_buffers(statement)
        for expr in statement.expressions:
            names |= variables(expr) | loaded_buffers(expr)
    return names
