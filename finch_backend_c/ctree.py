"""C as a tree: the expressions, statements and functions that ``printer`` writes out.

The nodes know syntax alone. What they mean, and which C type an expression has, is settled by
``emitter`` when it builds them.
"""

from __future__ import annotations

import attrs


class Expr:
    """A C expression."""

    __slots__ = ()


@attrs.frozen
class Name(Expr):
    """An identifier."""

    text: str


@attrs.frozen
class Number(Expr):
    """A constant, as it is spelt; a leading minus binds like the unary operator."""

    text: str


@attrs.frozen
class Unary(Expr):
    """A prefix operator, ``__real__`` too."""

    op: str
    operand: Expr


@attrs.frozen
class Binary(Expr):
    """An infix operator."""

    op: str
    left: Expr
    right: Expr


@attrs.frozen
class Ternary(Expr):
    """``cond ? then : orelse``."""

    cond: Expr
    then: Expr
    orelse: Expr


@attrs.frozen
class Subscript(Expr):
    """``base[index]``."""

    base: Expr
    index: Expr


@attrs.frozen
class Member(Expr):
    """``base.field``."""

    base: Expr
    field: str


@attrs.frozen
class Call(Expr):
    """A function or macro applied to arguments."""

    function: str
    args: tuple[Expr, ...]


@attrs.frozen
class Cast(Expr):
    """``(type)operand``."""

    type: str
    operand: Expr


@attrs.frozen
class Compound(Expr):
    """A compound literal: ``(type){items}``."""

    type: str
    items: tuple[Expr, ...]


@attrs.frozen
class Initializer(Expr):
    """What an array starts from: ``{items}``."""

    items: tuple[Expr, ...]


@attrs.frozen
class Range(Expr):
    """An item for the first ``count`` elements: ``[0 ... count - 1] = value``."""

    count: int
    value: Expr


class Stmt:
    """A C statement."""

    __slots__ = ()


@attrs.frozen
class Declare(Stmt):
    """``type name = value;`` where ``type`` carries its qualifiers (``double *restrict ``)."""

    type: str
    name: str
    value: Expr | None = None


@attrs.frozen
class Assign(Stmt):
    """``target op value;`` with ``op`` one of ``=``, ``+=``, ..."""

    target: Expr
    value: Expr
    op: str = "="


@attrs.frozen
class Increment(Stmt):
    """``target++``."""

    target: Expr


@attrs.frozen
class Evaluate(Stmt):
    """An expression for what it does: a call."""

    value: Expr


@attrs.frozen
class Goto(Stmt):
    """``goto label``."""

    label: str


@attrs.frozen
class Label(Stmt):
    """The place that a ``Goto`` names."""

    name: str


@attrs.frozen
class Return(Stmt):
    """``return value``."""

    value: Expr


@attrs.frozen
class Break(Stmt):
    """``break``."""


@attrs.frozen
class Comment(Stmt):
    """Lines for the reader."""

    text: str


@attrs.frozen
class Block:
    """Statements in order."""

    statements: tuple[Stmt, ...] = ()


@attrs.frozen
class For(Stmt):
    """``for (type name = start; name < limit; name++)``.

    ``bound``, where given, is a second variable that the loop declares: it holds the limit, which
    is thereby evaluated once.
    """

    type: str
    name: str
    start: Expr
    limit: Expr
    body: Block
    bound: str = ""
    pragma: str = ""
    counts: bool = True


@attrs.frozen
class While(Stmt):
    """``while (cond)``."""

    cond: Expr
    body: Block


@attrs.frozen
class DoWhile(Stmt):
    """``do`` once and ``while (cond)``."""

    cond: Expr
    body: Block


@attrs.frozen
class If(Stmt):
    """``if (cond)``, with an ``else`` if ``orelse`` has statements."""

    cond: Expr
    body: Block
    orelse: Block = Block()


@attrs.frozen
class Function:
    """A definition; ``head`` is the declaration up to the closing parenthesis, in parts."""

    result: str
    name: str
    params: tuple[str, ...]
    body: Block
