"""The program: the paper's grammar (Figure "Syntax and Semantics for Finch") as immutable nodes.

Expressions are those of ``ir.expressions``: ``Literal``, ``Index``, ``Name`` (VARIABLE and
VALUE), ``Call``, ``Cast``, ``Access`` and, inside an access, ``Modified``. An access is an
update as the target of an ``Assign``, and a read everywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from finch_core.errors import Source, Span
from finch_core.ir.dtypes import BOOL, Type
from finch_core.ir.expressions import Access, Expr, Index, Name
from finch_core.ir.operators import Operator
from finch_core.records import evolve, field, frozen


def _span() -> Any:
    return field(default=None, eq=False, repr=False, kw_only=True)


class Stmt:
    """A statement: ``exprs`` are its own expressions (targets included), ``bodies`` its
    substatements."""

    __slots__ = ("_indices", "_plain", "_reduced", "_slots")  # what was found of it
    span: Span | None

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return ()

    @property
    def bodies(self) -> tuple[Stmt, ...]:
        return ()

    def rebuild(self, exprs: tuple[Expr, ...], bodies: tuple[Stmt, ...]) -> Stmt:
        """This statement with other expressions and substatements."""
        return self

    def walk(self) -> Iterator[Stmt]:
        left: list[Stmt] = [self]
        while left:
            stmt = left.pop()
            yield stmt
            left.extend(reversed(stmt.bodies))


def operators_in(stmt: Stmt) -> Iterator[Operator]:
    """The operators of updates and expressions in a statement and its substatements."""
    for part in stmt.walk():
        op = getattr(part, "op", None)
        if op is not None:
            yield op
        for expr in part.exprs:
            yield from (node.op for node in expr.walk() if hasattr(node, "op"))


@frozen(order=False)
class Extent(Expr):
    """EXTENT: the half-open range from ``start`` up to ``stop``.

    ``step``: that of a written range, which may run downwards; the pass ``scopes`` replaces it
    by the ``step`` of the loop. ``backwards``: the numbers of the written range in reverse.
    """

    start: Expr
    stop: Expr
    step: Expr | None = None
    backwards: bool = False

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.start, self.stop, *(() if self.step is None else (self.step,)))

    def rebuild(self, children: tuple[Expr, ...]) -> Expr:
        start, stop, *step = children
        return Extent(start, stop, step[0] if step else None, self.backwards)


@frozen(order=False)
class Stored(Expr):
    """Whether ``access``, an ``Access`` before the passes, is of an element that is stored."""

    access: Expr

    @property
    def dtype(self) -> Type:
        return BOOL

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.access,)

    def rebuild(self, children: tuple[Expr, ...]) -> Expr:
        return Stored(children[0])


@frozen
class Sequential(Stmt):
    """BLOCK: statements in order."""

    statements: tuple[Stmt, ...] = ()
    span: Span | None = _span()

    @property
    def bodies(self) -> tuple[Stmt, ...]:
        return self.statements

    def rebuild(self, exprs: tuple[Expr, ...], bodies: tuple[Stmt, ...]) -> Stmt:
        return Sequential(bodies, span=self.span)


@frozen
class Loop(Stmt):
    """LOOP: ``for index in extent``; dimensionalization replaces an extent of ``None`` (``_``).

    ``step``: the distance of successive indices, if it is not 1. If positive, the first index
    is the extent's first; if negative, it is the extent's last.

    ``parallel``: its turns may run at the same time, which ``lower/races.py`` proves.

    ``bounds`` (set by dimensionalization): values that are known when the loop begins, with which
    conditions compare the index.
    """

    index: Index
    extent: Extent | None
    body: Stmt
    step: Expr | None = field(default=None, kw_only=True)
    parallel: bool = field(default=False, kw_only=True)
    bounds: tuple[Expr, ...] = field(default=(), kw_only=True)
    span: Span | None = _span()

    @property
    def exprs(self) -> tuple[Expr, ...]:
        given = (expr for expr in (self.extent, self.step) if expr is not None)
        return (*given, *self.bounds)

    @property
    def bodies(self) -> tuple[Stmt, ...]:
        return (self.body,)

    def rebuild(self, exprs: tuple[Expr, ...], bodies: tuple[Stmt, ...]) -> Stmt:
        extent = exprs[0] if exprs else None
        assert extent is None or isinstance(extent, Extent)
        step = None if self.step is None else exprs[1]
        bounds = exprs[len(exprs) - len(self.bounds) :]
        return evolve(self, extent=extent, body=bodies[0], step=step, bounds=bounds)


@frozen
class Update(Stmt):
    """ASSIGN: ``target = value``, or ``target <<op>>= value``.

    ``fresh`` (set by the lifecycle pass): every element that this writes still holds the fill
    value.
    """

    target: Access
    op: Operator | None
    value: Expr
    fresh: bool = field(default=False, kw_only=True)
    span: Span | None = _span()

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return (self.target, self.value)

    def rebuild(self, exprs: tuple[Expr, ...], bodies: tuple[Stmt, ...]) -> Stmt:
        target = exprs[0]
        assert isinstance(target, Access)
        return Update(target, self.op, exprs[1], fresh=self.fresh, span=self.span)


@frozen
class Define(Stmt):
    """DEFINE: ``let name = value`` in ``body``."""

    name: Name
    value: Expr
    body: Stmt
    span: Span | None = _span()

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return (self.value,)

    @property
    def bodies(self) -> tuple[Stmt, ...]:
        return (self.body,)

    def rebuild(self, exprs: tuple[Expr, ...], bodies: tuple[Stmt, ...]) -> Stmt:
        return Define(self.name, exprs[0], bodies[0], span=self.span)


@frozen
class Sieve(Stmt):
    """SIEVE: ``if cond``; ``orelse`` runs if the condition is false."""

    cond: Expr
    body: Stmt
    orelse: Stmt = Sequential()
    span: Span | None = _span()

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return (self.cond,)

    @property
    def bodies(self) -> tuple[Stmt, ...]:
        return (self.body, self.orelse)

    def rebuild(self, exprs: tuple[Expr, ...], bodies: tuple[Stmt, ...]) -> Stmt:
        return Sieve(exprs[0], bodies[0], bodies[1], span=self.span)


@frozen
class While(Stmt):
    """WHILE: ``body`` again and again, as long as ``cond`` holds before it."""

    cond: Expr
    body: Stmt
    span: Span | None = _span()

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return (self.cond,)

    @property
    def bodies(self) -> tuple[Stmt, ...]:
        return (self.body,)

    def rebuild(self, exprs: tuple[Expr, ...], bodies: tuple[Stmt, ...]) -> Stmt:
        return While(exprs[0], bodies[0], span=self.span)


BREAK, CONTINUE = "break", "continue"


@frozen
class Labelled(Stmt):
    """``body``, which ``Leave(label)`` ends early.

    A loop that contains a ``break`` is labelled ``BREAK`` as a whole, the body of one that
    contains a ``continue`` is labelled ``CONTINUE``.
    """

    label: str
    body: Stmt
    span: Span | None = _span()

    @property
    def bodies(self) -> tuple[Stmt, ...]:
        return (self.body,)

    def rebuild(self, exprs: tuple[Expr, ...], bodies: tuple[Stmt, ...]) -> Stmt:
        return Labelled(self.label, bodies[0], span=self.span)


@frozen
class Leave(Stmt):
    """BREAK, CONTINUE: end the innermost enclosing statement that is labelled ``label``."""

    label: str
    span: Span | None = _span()


def has_loops(stmt: Stmt) -> bool:
    """Whether a statement has loops."""
    return any(isinstance(part, (Loop, While)) for part in stmt.walk())


def leaves(stmt: Stmt) -> frozenset[str]:
    """The labels outside of ``stmt`` that it may leave."""
    if isinstance(stmt, Leave):
        return frozenset({stmt.label})
    found = frozenset[str]().union(*map(leaves, stmt.bodies))
    return found - {stmt.label} if isinstance(stmt, Labelled) else found


@frozen
class Declare(Stmt):
    """DECLARE: ``tensor .= init`` over ``dims`` (set by dimensionalization).

    ``scratch`` (set by the pass of that name): only later statements of this block read it.
    """

    tensor: Any
    init: Expr
    dims: tuple[Extent | None, ...] = ()
    scratch: bool = field(default=False, kw_only=True)
    span: Span | None = _span()

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return (self.init, *(d for d in self.dims if d is not None))

    def rebuild(self, exprs: tuple[Expr, ...], bodies: tuple[Stmt, ...]) -> Stmt:
        rest = iter(exprs[1:])
        dims: Any = tuple(None if d is None else next(rest) for d in self.dims)
        return Declare(self.tensor, exprs[0], dims, scratch=self.scratch, span=self.span)


@frozen
class Freeze(Stmt):
    """FREEZE: end the updates of a tensor, so that it can be read."""

    tensor: Any
    span: Span | None = _span()


@frozen
class Thaw(Stmt):
    """THAW: make a frozen tensor ready for updates again."""

    tensor: Any
    span: Span | None = _span()


@frozen
class Swap(Stmt):
    """``swap(first, second)``: two tensors of one format and shape exchange their contents."""

    first: Any
    second: Any
    span: Span | None = _span()


@frozen
class Local:
    """A tensor made inside the kernel: ``w = Tensor(fmt)`` or ``t = Scalar(0.0)``; or, without
    a format, a variable: a plain name that is assigned more than once (``ir.variables`` finds
    its dtype). A variable is declared to its first value, or to ``missing`` if that is assigned
    later.

    ``shape`` is the given shape (else ``None``): integers, and expressions of numbers that are
    known before the program runs.
    """

    name: str
    format: Any
    shape: tuple[int | Expr, ...] | None = None
    span: Span | None = field(default=None, eq=False, repr=False)

    @property
    def is_variable(self) -> bool:
        return self.format is None


@frozen
class Program:
    """A parsed kernel.

    ``params`` are the function's parameters in order. ``free`` maps each free name that is a
    tensor or a number to a function that gives its value at the time of a call (run-time
    values, never compiled in). ``results`` are the returned names, ``single`` whether one was
    returned without a tuple. ``captured`` are the callables found under free names when the
    kernel was parsed, as ``(name, object)``, which must be the same when the program is used.
    """

    name: str
    params: tuple[str, ...]
    body: Stmt
    locals: tuple[Local, ...] = ()
    results: tuple[str, ...] = ()
    single: bool = True
    free: tuple[str, ...] = ()
    captured: tuple[tuple[str, Any], ...] = field(default=(), eq=False)
    defaults: dict[str, Any] = field(factory=dict, eq=False, repr=False)
    """The numbers that parameters are where a call gives none."""
    homes: tuple[tuple[str, Any, str], ...] = field(default=(), eq=False, repr=False)
    """For free names of kernels that this one calls: the function there, and the name in it."""
    strict: bool = False
    """Whether one of those keeps the order of reductions, so that this one must."""
    spans: dict[str, Span] = field(factory=dict, eq=False, repr=False)
    """Where each parameter, local and result is named."""
    source: Source | None = field(default=None, eq=False, repr=False)
    seen: Any = field(default=None, eq=False, repr=False)
    """The objects that the parser resolved names to (``frontend.seen.Seen``), if it recorded
    them."""

    def as_text(self) -> str:
        from finch_core.ir.program_text import program_text

        return program_text(self)


def written(program: Program) -> frozenset[str]:
    """The names of the tensors that the program writes."""
    found = set()
    for part in program.body.walk():
        if isinstance(part, Update):
            found.add(part.target.tensor)
        elif isinstance(part, Declare):
            found.add(part.tensor)
    return frozenset(found) | swapped(program)


def swapped(program: Program) -> frozenset[str]:
    """The names of the tensors that the program swaps."""
    swaps = [part for part in program.body.walk() if isinstance(part, Swap)]
    return frozenset(name for part in swaps for name in (part.first, part.second))
