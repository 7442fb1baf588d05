"""C as a tree: the expressions, statements and functions that ``printer`` writes out.

The nodes represent syntax only. ``emitter`` determines meaning and C types when it builds them.
"""

from __future__ import annotations

from finch_core.records import frozen


class Expr:
    """A C expression."""

    __slots__ = ()


@frozen
class Name(Expr):
    """An identifier."""

    text: str


@frozen
class Number(Expr):
    """A constant, as it is spelt; a leading minus binds like the unary operator."""

    text: str


@frozen
class Unary(Expr):
    """A prefix operator, ``__real__`` too."""

    op: str
    operand: Expr


@frozen
class Binary(Expr):
    """An infix operator."""

    op: str
    left: Expr
    right: Expr


@frozen
class Ternary(Expr):
    """``cond ? then : orelse``."""

    cond: Expr
    then: Expr
    orelse: Expr


@frozen
class Subscript(Expr):
    """``base[index]``."""

    base: Expr
    index: Expr


@frozen
class Member(Expr):
    """``base.field``."""

    base: Expr
    field: str


@frozen
class Call(Expr):
    """A function or macro applied to arguments."""

    function: str
    args: tuple[Expr, ...]


@frozen
class Cast(Expr):
    """``(type)operand``."""

    type: str
    operand: Expr


@frozen
class Compound(Expr):
    """A compound literal: ``(type){items}``."""

    type: str
    items: tuple[Expr, ...]


@frozen
class Initializer(Expr):
    """An array initializer: ``{items}``."""

    items: tuple[Expr, ...]


@frozen
class Range(Expr):
    """An item for the first ``count`` elements: ``[0 ... count - 1] = value``."""

    count: int
    value: Expr


class Stmt:
    """A C statement."""

    __slots__ = ()


@frozen
class Declare(Stmt):
    """``type name = value;`` where ``type`` carries its qualifiers (``double *restrict ``)."""

    type: str
    name: str
    value: Expr | None = None


@frozen
class Assign(Stmt):
    """``target op value;`` with ``op`` one of ``=``, ``+=``, ..."""

    target: Expr
    value: Expr
    op: str = "="


@frozen
class Increment(Stmt):
    """``target++``."""

    target: Expr


@frozen
class Evaluate(Stmt):
    """An expression statement: a call."""

    value: Expr


@frozen
class Goto(Stmt):
    """``goto label``."""

    label: str


@frozen
class Label(Stmt):
    """The place that a ``Goto`` names."""

    name: str


@frozen
class Return(Stmt):
    """``return value``."""

    value: Expr


@frozen
class Break(Stmt):
    """``break``."""


@frozen
class Comment(Stmt):
    """Lines for the reader."""

    text: str


@frozen
class Block:
    """Statements in order."""

    statements: tuple[Stmt, ...] = ()


@frozen
class Scope(Stmt):
    """Statements in braces, whose names are their own."""

    body: Block


@frozen
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

    @property
    def end(self) -> Expr:
        """What the counter is compared with."""
        return Name(self.bound) if self.bound else self.limit


@frozen
class While(Stmt):
    """``while (cond)``."""

    cond: Expr
    body: Block


@frozen
class DoWhile(Stmt):
    """``do`` once and ``while (cond)``."""

    cond: Expr
    body: Block


@frozen
class If(Stmt):
    """``if (cond)``, with an ``else`` if ``orelse`` has statements."""

    cond: Expr
    body: Block
    orelse: Block = Block()


@frozen
class Function:
    """A definition; ``head`` is the declaration up to the closing parenthesis, in parts."""

    result: str
    name: str
    params: tuple[str, ...]
    body: Block
