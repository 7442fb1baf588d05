"""Assembly: the small, typed, imperative language that backends translate.

A ``Kernel`` takes *records* (one for each tensor, see ``abi``) and scalars, and executes a
block of statements. Backends do no implicit conversion: ``ir.typing`` has inserted a ``Cast``
where an operator's typing rule requires one, and no type is weak. The interpreter defines the
semantics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from finch_core.errors import FinchError, Span
from finch_core.ir.expressions import Buffer, Expr, Literal, Var
from finch_core.ir.kept import kept
from finch_core.records import frozen


class Statement:
    """A statement; ``expressions`` are those it evaluates itself, ``blocks`` its nested blocks."""

    __slots__ = ("_certain", "_mentions", "_own")  # what was found of it (``ir/kept.py``)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return ()

    @property
    def blocks(self) -> tuple[Block, ...]:
        return ()

    def walk(self) -> Iterator[Statement]:
        """This statement and all inside it, in program order."""
        left: list[Statement] = [self]
        while left:
            statement = left.pop()
            yield statement
            for block in reversed(statement.blocks):
                left.extend(reversed(block.statements))


class _Found:
    """What was found of a block (``ir/kept.py``)."""

    __slots__ = tuple("_accesses _assigned _changes _declared _kinds _leaves _uses _walked".split())


@frozen
class Block(_Found):
    """Statements in order; the scope of the variables that it declares."""

    statements: tuple[Statement, ...] = ()

    def walk(self) -> Iterator[Statement]:
        """All statements inside, in program order."""
        return iter(_walked(self))

    def __bool__(self) -> bool:
        return bool(self.statements)


def contains(block: Block, *kinds: type[Statement]) -> bool:
    """Whether a statement of one of these classes is in ``block``, at any depth."""
    return not _kinds(block).isdisjoint(kinds)


@kept("_kinds")
def _kinds(block: Block) -> frozenset[type[Statement]]:
    own = {type(statement) for statement in block.statements}
    return frozenset(own.union(*[_kinds(b) for s in block.statements for b in s.blocks]))


@kept("_walked")
def _walked(block: Block) -> tuple[Statement, ...]:
    found = []
    left = list(reversed(block.statements))
    while left:
        statement = left.pop()
        found.append(statement)
        for inner in reversed(statement.blocks):
            left.extend(reversed(inner.statements))
    return tuple(found)


@frozen
class Let(Statement):
    """Declare ``var`` with a value; only a ``mutable`` one may be assigned again."""

    var: Var
    value: Expr
    mutable: bool = False

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.value,)


@frozen
class Assign(Statement):
    """``var = value``."""

    var: Var
    value: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.value,)


@frozen
class Store(Statement):
    """``buffer[index] = value``."""

    buffer: Buffer
    index: Expr
    value: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.index, self.value)


@frozen
class For(Statement):
    """``for var in range(start, stop)``: the bounds are evaluated once.

    ``lanes`` permits a backend to compute reductions in several lanes: pairs of the variable
    and its operator. ``banks`` permits it to use private copies of buffers to whose elements
    the loop only adds integers, and to add the copies up after the loop: pairs of the buffer
    and the number of leading elements. ``jam`` permits it to unroll the loop and jam the loops
    inside: each turn begins a variable, a loop adds to it, and the turn stores it, independently of
    the other turns. All are permissions; a backend may ignore them.

    ``loose``: some values of ``var`` may be outside of what the body accesses with it, which it
    then does under conditions only. Passes may not move such accesses out of these.
    """

    var: Var
    start: Expr
    stop: Expr
    body: Block
    lanes: tuple[tuple[Var, Any], ...] = ()
    banks: tuple[tuple[Buffer, int], ...] = ()
    loose: bool = False
    jam: bool = False

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.start, self.stop)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (self.body,)


@frozen
class Private:
    """A variable or buffer of which each thread has its own in a parallel loop.

    A variable has the value ``init`` at first, a buffer no room. Threads keep both from part to
    part: a part finds them as some part before it, or none, has left them.
    """

    target: Var | Buffer
    init: Literal | None = None


@frozen
class Parallel(Statement):
    """``body`` for each part ``var`` in range(0, count): parts may run at the same time.

    ``private`` are the variables and buffers that each thread has for itself. Of others, which are
    declared outside, a part assigns no variable and grows no buffer, but in a ``Merge`` at the end
    of ``body``; ``shared`` are the buffers to which it stores, each part to elements of its own.
    ``count``, and what each part does, depend on the data alone, so that results do not depend on
    the number of threads. With ``any_count``, any other number of parts gives the same results:
    ``count`` is a variable, and a backend that runs another number of parts gives it that value
    in ``body``.
    """

    var: Var
    count: Expr
    body: Block
    private: tuple[Private, ...] = ()
    shared: tuple[Buffer, ...] = ()
    any_count: bool = False

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.count,)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (self.body,)


@frozen
class Merge(Statement):
    """The end of a part: ``body``, which runs for one part after another, in their order."""

    body: Block

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (self.body,)


@frozen
class While(Statement):
    """``while cond: body``."""

    cond: Expr
    body: Block

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.cond,)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (self.body,)


@frozen
class If(Statement):
    """``if cond: body``, ``else: orelse``.

    ``likely`` is a hint to branch on the condition rather than to compute with it, so that
    later code does not depend on it: whether the condition is true as a rule. ``None``: unknown.
    """

    cond: Expr
    body: Block
    orelse: Block = Block()
    likely: bool | None = None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.cond,)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (self.body, self.orelse)


@frozen
class Break(Statement):
    """Leave the innermost loop."""


@frozen
class Grow(Statement):
    """Ensure that ``buffer`` has room for at least ``size`` elements; its contents are kept.

    The capacity at least doubles, and new elements are undefined. Fails with out of memory.
    """

    buffer: Buffer
    size: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.size,)


@frozen
class Fill(Statement):
    """``buffer[start:stop] = value``; no effect if ``stop <= start``."""

    buffer: Buffer
    start: Expr
    stop: Expr
    value: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.start, self.stop, self.value)


@frozen
class Move(Statement):
    """``target[to:to+count] = source[begin:begin+count]``; they may be one buffer and overlap."""

    target: Buffer
    to: Expr
    source: Buffer
    begin: Expr
    count: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.to, self.begin, self.count)


@frozen
class Swap(Statement):
    """Two buffers exchange their contents and capacities, without copying. Their records say at
    once where each is now; the kernel ends with the status of buffers that moved."""

    first: Buffer
    second: Buffer


@frozen
class Sort(Statement):
    """Sort ``buffer[start:stop]`` (integers) ascending."""

    buffer: Buffer
    start: Expr
    stop: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.start, self.stop)


@frozen
class Prefetch(Statement):
    """A hint that ``buffer[index]`` will be loaded soon, without effect on results. ``index``
    may be out of bounds; the loads that compute it are not."""

    buffer: Buffer
    index: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.index,)


@frozen
class Fail(Statement):
    """Leave the kernel with error ``site``; up to three int64 ``values`` go into its message.

    It does not guard later loads: what an iteration loads before a possible failure, earlier
    iterations may have loaded already.
    """

    site: int
    values: tuple[Expr, ...] = ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.values


@frozen
class Return(Statement):
    """The value of a function."""

    value: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.value,)


@frozen
class Comment(Statement):
    """Text for readers of the generated code."""

    text: str


def is_left(block: Block) -> bool:
    """Whether a turn of the loop around ``block`` may end that loop."""
    return any(
        isinstance(statement, Break)
        or (
            not isinstance(statement, (For, While, Parallel))
            and any(map(is_left, statement.blocks))
        )
        for statement in block.statements
    )


def is_growth_check(statement: Statement) -> bool:
    """Whether a statement only grows buffers that are full."""
    if not isinstance(statement, If) or statement.orelse:
        return False
    inner = statement.body.statements
    only = all(isinstance(s, (Let, Grow, Fill, Assign)) for s in inner)
    return only and any(isinstance(s, Grow) for s in inner)


@frozen(eq=False)
class Function:
    """A routine with several callers. It cannot fail and grows no buffer.

    Parameters are variables and buffers. Functions of one name are the same function.
    """

    name: str
    params: tuple[Var | Buffer, ...]
    dtype: np.dtype[Any]
    body: Block


@frozen
class Slot:
    """One field of a tensor's record that a kernel uses.

    A scalar takes its dtype's size (rounded up to 8 bytes) at word ``offset``; a buffer takes
    two words there, its address and its capacity in elements. ``written``: the kernel may
    change it, so it is stored back when the kernel ends, whether it succeeds or fails.
    ``length``: it is the length of a dimension, and so not negative.
    """

    target: Var | Buffer
    offset: int
    written: bool = False
    length: bool = False


@frozen
class Record:
    """A parameter: the record of one tensor. ``local`` records belong to the kernel's
    workspaces."""

    name: str
    slots: tuple[Slot, ...]
    local: bool = False


@frozen
class Argument:
    """A parameter: a run-time scalar, passed by value."""

    var: Var


@frozen
class Site:
    """A place where a kernel may fail: the exception, its message (formatted with the values of
    ``Fail``), the place in the program, and the hint. ``early``: before any change to memory."""

    error: type[FinchError]
    message: str
    span: Span | None = None
    hint: str = ""
    early: bool = False


OUT_OF_MEMORY = 0
"""The site that every kernel has: a ``Grow`` for which memory ran out."""


@frozen(eq=False)
class Kernel:
    """A whole kernel. ``sites[0]`` is out of memory.

    ``notes`` is a line of text for the core alone: a cache stores it with the kernel.
    """

    name: str
    params: tuple[Record | Argument, ...]
    functions: tuple[Function, ...]
    body: Block
    sites: tuple[Site, ...]
    notes: str = ""

    def as_text(self) -> str:
        from finch_core.ir.assembly_text import kernel_text

        return kernel_text(self)
