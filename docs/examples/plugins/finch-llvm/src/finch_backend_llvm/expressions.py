"""Expressions of assembly as values."""

from __future__ import annotations

from functools import singledispatchmethod
from typing import Any

import attrs

from finch_backend_llvm import values
from finch_backend_llvm.casts import cast
from finch_backend_llvm.code import FALSE, TRUE, Code, integer
from finch_backend_llvm.operators import apply
from finch_backend_llvm.scope import Memory, Variable
from finch_backend_llvm.values import INT64, Value
from finch_core.errors import BackendError
from finch_core.ir.assembly import Function
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import (
    Buffer,
    Call,
    Cast,
    Expr,
    Invoke,
    Length,
    Literal,
    Load,
    Overlaps,
    Var,
)
from finch_core.operators import literal_value

LAZY = ("and", "or", "ifelse")
CHEAP = 12
"""Nodes up to which evaluating what may not be needed is quicker than a branch."""


@attrs.define(eq=False)
class Expressions:
    """Emits expressions into ``code``; ``names`` is what is visible.

    ``_known`` remembers values, so that shared nodes are emitted once.
    """

    code: Code
    names: dict[str, Any] = attrs.field(factory=dict)
    _known: dict[Expr, Value] = attrs.field(factory=dict, init=False)

    def value(self, expr: Expr) -> Value:
        """The value of ``expr``, for a statement of its own."""
        self._known = {}
        return self.emit(expr)

    def emit(self, expr: Expr) -> Value:
        """The value of a part of an expression."""
        if not isinstance(expr, (Call, Cast, Invoke)) or _stores(expr):
            return self._emit(expr)
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._emit(expr)
        return found

    def memory(self, buffer: Buffer) -> Memory:
        found: Memory = self.names[buffer.name]
        return found

    @singledispatchmethod
    def _emit(self, expr: Expr) -> Value:
        raise BackendError(f"no expression of assembly: {expr!r}")

    @_emit.register
    def _(self, expr: Literal) -> Value:
        return values.constant(literal_value(expr.value, expr.type), expr.type)

    @_emit.register
    def _(self, expr: Var) -> Value:
        found = self.names[expr.name]
        return found.get(self.code) if isinstance(found, Variable) else found

    @_emit.register
    def _(self, expr: Cast) -> Value:
        value = self.emit(expr.value)
        return cast(self.code, value, concrete(expr.value.dtype), expr.type)

    @_emit.register
    def _(self, expr: Load) -> Value:
        memory, b = self.memory(expr.buffer), self.code.builder
        index = self.emit(expr.index)
        place = values.element(b, memory.base(self.code), index, memory.dtype)
        return values.load(b, place, memory.dtype, memory.tag)

    @_emit.register
    def _(self, expr: Length) -> Value:
        return self.memory(expr.buffer).length(self.code)

    @_emit.register
    def _(self, expr: Overlaps) -> Value:
        b = self.code.builder
        (start, stop), (other, other_stop) = map(self._span, (expr.first, expr.second))
        apart = b.or_(b.icmp_unsigned("<=", stop, other), b.icmp_unsigned("<=", other_stop, start))
        empty = b.or_(b.icmp_unsigned("==", start, stop), b.icmp_unsigned("==", other, other_stop))
        return b.not_(b.or_(apart, empty))

    def _span(self, buffer: Buffer) -> tuple[Value, Value]:
        b, memory = self.code.builder, self.memory(buffer)
        start = b.ptrtoint(memory.base(self.code), INT64)
        size = b.mul(memory.length(self.code), integer(memory.dtype.itemsize))
        return start, b.add(start, size)

    @_emit.register
    def _(self, expr: Invoke) -> Value:
        args: list[Value] = []
        for arg in expr.args:
            if isinstance(arg, Buffer):
                memory = self.memory(arg)
                args += (memory.base(self.code), memory.length(self.code))
            else:
                args.append(self.emit(arg))
        function = self.code.module.globals[function_name(expr.function)]
        result = self.code.builder.call(function, args)
        if _stores(expr):
            self._known = {}
        return result

    @_emit.register
    def _(self, expr: Call) -> Value:
        if expr.op.name in LAZY and not all(map(_is_cheap, expr.args[1:])):
            return self._lazy(expr)
        args = [self.emit(arg) for arg in expr.args]
        return self.applied(expr, args)

    def applied(self, expr: Call, args: list[Value]) -> Value:
        """The operator of ``expr`` on values."""
        dtypes = tuple(concrete(arg.dtype) for arg in expr.args)
        return apply(self.code, expr.op.name, dtypes, concrete(expr.dtype), args)

    def _lazy(self, expr: Call) -> Value:
        cond = self.emit(expr.args[0])
        if expr.op.name == "ifelse":
            first, second = expr.args[1:]
            return self._choose(cond, first, second)
        if expr.op.name == "and":
            return self._choose(cond, expr.args[1], FALSE)
        return self._choose(cond, TRUE, expr.args[1])

    def _choose(self, cond: Value, first: Any, second: Any) -> Value:
        """One of two expressions; what is emitted in a branch is not known behind it."""
        known = self._known

        def branch(expr: Any) -> Value:
            self._known = dict(known)
            return self.emit(expr) if isinstance(expr, Expr) else expr

        result = self.code.choose(cond, lambda: branch(first), lambda: branch(second))
        invoked = isinstance(first, Expr) and _invokes(first)
        invoked = invoked or (isinstance(second, Expr) and _invokes(second))
        self._known = {} if invoked else known
        return result


def function_name(function: Function) -> str:
    """The name of an assembly function in a module."""
    return f"fn.{function.name}"


def _invokes(expr: Expr) -> bool:
    """Whether a function in ``expr`` may store."""
    return _stores(expr) or any(map(_invokes, expr.children))


def _stores(expr: Expr) -> bool:
    """Whether this is a call of a function that gets a buffer."""
    return isinstance(expr, Invoke) and any(isinstance(arg, Buffer) for arg in expr.args)


def _is_cheap(expr: Expr) -> bool:
    """Whether ``expr`` may be evaluated where it is not needed, and costs little."""
    return _cost(expr, CHEAP) >= 0


def _cost(expr: Expr, budget: int) -> int:
    """What is left of ``budget``; negative where a load, a call or too much is below."""
    if isinstance(expr, (Load, Invoke)) or (isinstance(expr, Call) and expr.op.costly):
        return -1
    budget -= 1
    for child in expr.children:
        if budget < 0:
            return budget
        budget = _cost(child, budget)
    return budget
