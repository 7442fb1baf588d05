"""Emission of assembly: expressions by operators, and blocks by context managers.

    with b.for_("i", 0, n) as i:
        q = b.let("q", pointer[i])
        with b.if_(q < stop):
            b.store(values, q, 1.0)
        with b.else_():
            b.break_()

Code without effect (a branch under a false literal condition, an empty loop) is not emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from finch_core.errors import PluginError
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Assign,
    Block,
    Break,
    Comment,
    Fail,
    Fill,
    For,
    Function,
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
from finch_core.ir.dtypes import BOOL, INTP, concrete
from finch_core.ir.expected import held, integer, tested
from finch_core.ir.expressions import (
    Buffer,
    Call,
    Expr,
    Invoke,
    Literal,
    Var,
    call,
    cast,
    lift,
)
from finch_core.records import define, field

_WORDS = (
    "alignas alignof asm auto bool break case char const constexpr continue default do double "
    "else enum extern false float for goto if inline int long main nullptr register restrict "
    "return short signed sizeof static static_assert struct switch thread_local true typedef "
    "typeof union unsigned void volatile while I NULL NAN INFINITY EOF errno and or not ifelse "
    "mut range in"
)
RESERVED = frozenset(_WORDS.split())
"""Names that have a meaning in C, or in the text of assembly."""

_NOTHING = Block()


class Names:
    """Fresh names of one compilation, chosen deterministically. ``lengths`` are those of variables
    that are lengths of dimensions, and so not negative."""

    def __init__(self, taken: Iterable[str] = (), lengths: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self.lengths = frozenset(lengths)
        self._counts: dict[str, int] = {}

    def copy(self) -> Names:
        """A copy in which the same names are taken."""
        other = Names(self._taken, self.lengths)
        other._counts = dict(self._counts)
        return other

    def fresh(self, base: str) -> str:
        """``base``, or ``base_2``, ``base_3``, ... if that is taken; never a keyword of C."""
        base = base + "_" if base in RESERVED else base
        count = self._counts.get(base, 0) + 1
        name = base if count == 1 else f"{base}_{count}"
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._counts[base] = count
        self._taken.add(name)
        return name


NEGATIONS = {
    prim.eq: prim.ne, prim.ne: prim.eq, prim.lt: prim.ge, prim.ge: prim.lt, prim.gt: prim.le,
    prim.le: prim.gt,
}  # fmt: skip


def negation(cond: Expr) -> Expr:
    """The opposite of a condition."""
    if not isinstance(cond, Call):
        return cond.not_()
    if cond.op in NEGATIONS and all(concrete(arg.dtype).kind in "iub" for arg in cond.args):
        return call(NEGATIONS[cond.op], *cond.args)
    if cond.op is prim.or_:
        return negation(cond.args[0]).and_(negation(cond.args[1]))
    if cond.op is prim.and_:
        return negation(cond.args[0]).or_(negation(cond.args[1]))
    return cond.not_()


@define
class _Frame:
    """A block under construction; ``branch`` is an ``if`` that an ``else`` may still follow."""

    statements: list[Statement] = field(factory=list)
    branch: tuple[Expr, Block, bool | None] | None = None

    def close(self, orelse: Block = _NOTHING) -> None:
        """Emit the open ``if``, whose other branch is now complete."""
        if self.branch is not None:
            cond, body, likely = self.branch
            self.branch = None
            self.statements.extend(conditional(cond, body, orelse, likely))


def conditional(
    cond: Expr, body: Block, orelse: Block = _NOTHING, likely: bool | None = None
) -> tuple[Statement, ...]:
    """The statements for ``if cond``: none, one branch, or an ``If``."""
    if isinstance(cond, Literal):
        return body.statements if cond.value else orelse.statements
    if body:
        return (If(cond, body, orelse, likely),)
    return (If(negation(cond), orelse),) if orelse else ()


class Builder:
    """Emits the statements of one kernel or function body, in order.

    ``names`` makes the names of the compilation; ``constants`` are immutable variables declared
    elsewhere (a kernel's run-time scalars), which ``let`` need not copy.
    """

    def __init__(self, names: Names, constants: Iterable[Var] = ()) -> None:
        self.names = names
        self._functions: dict[str, Function] = {}
        self._constants = {var.name: None for var in constants}  # in order, for `forgetting`
        self._lets: dict[str, None] = {}
        self._stack = [_Frame()]

    # -- variables and memory -----------------------------------------------------------------

    def let(self, name: str, value: Any, dtype: np.dtype[Any] | None = None) -> Expr:
        """An immutable variable; ``value`` itself if it is a constant or an immutable variable."""
        result: Expr = lift(value) if dtype is None else cast(lift(value), dtype)
        if isinstance(result, Literal) or self.is_constant(result):
            return result
        var = self._declare(name, result, mutable=False)
        self.constant(var)
        self._lets[var.name] = None
        return var

    def var(self, name: str, value: Any, dtype: np.dtype[Any] | None = None) -> Var:
        """A mutable variable."""
        value = lift(value)
        return self._declare(
            name, cast(value, concrete(value.dtype) if dtype is None else dtype), mutable=True
        )

    def constant(self, var: Var) -> None:
        """Declare that ``var``, defined elsewhere, is immutable."""
        self._constants[var.name] = None

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Within it, names are taken and variables declared that are free again behind it."""
        names, known = self.names, (len(self._constants), len(self._lets))
        self.names = names.copy()
        try:
            yield
        finally:
            self.names = names
            for declared, size in zip((self._constants, self._lets), known, strict=True):
                while len(declared) > size:
                    declared.popitem()

    def is_constant(self, value: Expr) -> bool:
        """Whether ``value`` is an immutable variable."""
        return isinstance(value, Var) and value.name in self._constants

    def _declare(self, name: str, value: Expr, mutable: bool) -> Var:
        var = Var(self.names.fresh(name), concrete(value.dtype))
        self.emit(Let(var, value, mutable))
        return var

    def assign(self, var: Var, value: Any) -> None:
        """``var = value``. Raises ``PluginError`` for an immutable variable, and for a value of a
        kind that it does not hold."""
        if not isinstance(var, Var) or var.name in self._lets:
            raise PluginError(
                f"{getattr(var, 'name', repr(var))} is assigned to, but is immutable",
                hint="ctx.var makes a mutable variable; ctx.let and ctx.for_ do not",
            )
        value = held(lift(value), var.type, var.name)
        if value != var:
            self.emit(Assign(var, value))

    def store(self, buffer: Buffer, index: Any, value: Any) -> None:
        """``buffer[index] = value``. Raises ``PluginError`` for a value of a kind that it does not
        hold, and for an index that is no integer."""
        value = held(lift(value), buffer.dtype, buffer.name)
        self.emit(Store(buffer, integer(index, f"an index of {buffer.name}"), value))

    def grow(self, buffer: Buffer, size: Any) -> None:
        """Ensure that ``buffer`` has room for at least ``size`` elements."""
        self.emit(Grow(buffer, lift(size)))

    def fill(self, buffer: Buffer, start: Any, stop: Any, value: Any) -> None:
        """``buffer[start:stop] = value``. Raises ``PluginError`` for a value of a kind that it does
        not hold."""
        if lift(start) + 1 == lift(stop):
            self.store(buffer, start, value)
        else:
            value = held(lift(value), buffer.dtype, buffer.name)
            self.emit(Fill(buffer, lift(start), lift(stop), value))

    def move(self, target: Buffer, to: Any, source: Buffer, begin: Any, count: Any) -> None:
        """``target[to:to+count] = source[begin:begin+count]``."""
        self.emit(Move(target, lift(to), source, lift(begin), lift(count)))

    def sort(self, buffer: Buffer, start: Any, stop: Any) -> None:
        """Sort ``buffer[start:stop]`` ascending."""
        self.emit(Sort(buffer, lift(start), lift(stop)))

    # -- control ------------------------------------------------------------------------------

    @contextmanager
    def if_(self, cond: Any, likely: bool | None = None) -> Iterator[None]:
        """``if cond``; ``else_`` may follow directly. ``likely``: see ``If``. Raises
        ``PluginError`` for a bool of Python."""
        with self.block() as body:
            yield
        frame = self._frame()
        frame.branch = (self._condition(cond), Block(tuple(body)), likely)

    @contextmanager
    def else_(self) -> Iterator[None]:
        """The other branch of the ``if_`` just before it in this block."""
        frame = self._stack[-1]
        if frame.branch is None:
            raise ValueError("else_ must directly follow an if_ in the same block")
        branch, frame.branch = frame.branch, None
        with self.block() as orelse:
            yield
        frame.branch = branch
        frame.close(Block(tuple(orelse)))

    @contextmanager
    def for_(
        self,
        name: str,
        start: Any,
        stop: Any,
        lanes: tuple[tuple[Var, Any], ...] = (),
        loose: bool = False,
    ) -> Iterator[Var]:
        """``for name in range(start, stop)``; gives the variable (int64). ``loose`` as for
        ``For``. Raises ``PluginError`` for an end that is no integer."""
        var = Var(self.names.fresh(name), INTP)
        self.constant(var)
        self._lets[var.name] = None
        start, stop = integer(start, f"the start of {name}"), integer(stop, f"the stop of {name}")
        literal = isinstance(start, Literal) and isinstance(stop, Literal)
        iterations = int(stop.value) - int(start.value) if literal else None
        begun = self.turn_begins()
        with self.block() as body:
            yield var
            if iterations != 1:
                self.turn_ends(begun)
        loop = For(var, start, stop, Block(tuple(body)), lanes, loose=loose)
        if iterations == 1 and not any(isinstance(s, Break) for s in loop.body.walk()):
            for statement in (Let(var, cast(start, INTP)), *body):
                self.emit(statement)
        elif body and (iterations is None or iterations > 0):
            self.emit(loop)

    @contextmanager
    def while_(self, cond: Any) -> Iterator[None]:
        """``while cond``. Raises ``PluginError`` for a bool of Python."""
        begun = self.turn_begins()
        with self.block() as body:
            yield
            self.turn_ends(begun)
        cond = self._condition(cond)
        if body and not (isinstance(cond, Literal) and not cond.value):
            self.emit(While(cond, Block(tuple(body))))

    def turn_begins(self) -> Any:
        """Called where the body of a loop begins; ``turn_ends`` gets the result."""
        return None

    def turn_ends(self, begun: Any) -> None:
        """Called where the body of a loop ends: a subclass may emit code there."""

    def break_(self) -> None:
        """Leave the innermost loop."""
        self.emit(Break())

    def fail(self, site: int, *values: Any) -> None:
        """Leave the kernel with error ``site``; up to three int64 values go into its message."""
        self.emit(Fail(site, tuple(map(lift, values))))

    def comment(self, text: str) -> None:
        self.emit(Comment(text))

    def _condition(self, cond: Any) -> Expr:
        test = tested(cond)
        return test if concrete(test.dtype) == BOOL else test.ne(0)

    # -- functions ----------------------------------------------------------------------------

    def function(
        self,
        name: str,
        params: tuple[Var | Buffer, ...],
        dtype: np.dtype[Any],
        build: Callable[..., None],
    ) -> Function:
        """The routine of this name; ``build(builder, *params)`` emits its body at the first use.

        The body returns its value with ``builder.ret``. It has its own names.
        """
        if name not in self._functions:
            inner = Builder(Names(param.name for param in params))
            inner._functions = self._functions
            inner._constants |= {param.name: None for param in params if isinstance(param, Var)}
            build(inner, *params)
            self._functions[name] = Function(name, tuple(params), dtype, inner.finish())
        return self._functions[name]

    def ret(self, value: Any) -> None:
        """Return ``value`` from the function that is being built."""
        self.emit(Return(lift(value)))

    def invoke(self, function: Function, *args: Any) -> Expr:
        """A call of ``function``; arguments are expressions or buffers, like its parameters."""
        return Invoke(function, tuple(a if isinstance(a, Buffer) else lift(a) for a in args))

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions built so far, each after those that it calls."""
        return tuple(self._functions.values())

    # -- blocks -------------------------------------------------------------------------------

    @contextmanager
    def block(self) -> Iterator[list[Statement]]:
        """Collect emitted statements in a list instead; ``extend`` may emit it later.

        The list is complete when the ``with`` ends.
        """
        frame = _Frame()
        self._stack.append(frame)
        try:
            yield frame.statements
            frame.close()
        finally:
            self._stack.pop()

    def emit(self, statement: Statement) -> None:
        self._frame().statements.append(statement)

    def extend(self, statements: Block | Iterable[Statement]) -> None:
        """Emit all of ``statements``."""
        if isinstance(statements, Block):
            statements = statements.statements
        self._frame().statements.extend(statements)

    def _frame(self) -> _Frame:
        frame = self._stack[-1]
        frame.close()
        return frame

    def emitted(self) -> list[Statement]:
        """The statements of the innermost block so far."""
        return self._frame().statements

    def finish(self) -> Block:
        """The block of everything emitted."""
        assert len(self._stack) == 1, "finish inside a block"
        return Block(tuple(self._frame().statements))
