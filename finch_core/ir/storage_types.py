"""Stored dtypes leave assembly: buffers get the dtype in which they are stored, variables the one
in which they are computed, and conversions between the two become explicit."""

from __future__ import annotations

from functools import singledispatchmethod
from typing import Any

import numpy as np

from finch_core.errors import FormatError, PluginError
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Argument,
    Assign,
    Block,
    Fill,
    Function,
    Kernel,
    Parallel,
    Private,
    Record,
    Slot,
    Statement,
    Store,
)
from finch_core.ir.assembly_rewrite import (
    with_blocks,
    with_children,
    with_expressions,
    with_statements,
)
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
    cast,
)
from finch_core.ir.stored_dtypes import StoredDtype, asked, stored_dtype, what_of
from finch_core.ir.typing import typed_kernel
from finch_core.records import evolve

DType = np.dtype[Any]


def typed_and_stored(kernel: Kernel) -> Kernel:
    """``kernel``, typed, over dtypes that every backend has."""
    dtypes: set[DType] = set()
    kernel = typed_kernel(kernel, dtypes)
    records = (param for param in kernel.params if isinstance(param, Record))
    dtypes |= {concrete(slot.target.dtype) for record in records for slot in record.slots}
    if all(stored_dtype(dtype) is None for dtype in dtypes):
        return kernel
    plain = without_stored_dtypes(kernel)
    return kernel if plain is kernel else typed_kernel(plain)


def without_stored_dtypes(kernel: Kernel) -> Kernel:
    """``kernel``, which is typed, over dtypes that every backend has; ``kernel`` itself if it has
    no others. The result is to be typed again."""
    rewriting = _Rewriting()
    functions = tuple(map(rewriting.function, kernel.functions))
    params = tuple(map(rewriting.param, kernel.params))
    body = rewriting.block(kernel.body)
    if not rewriting.found:
        return kernel
    return evolve(kernel, params=params, functions=functions, body=body)


def stored_in(dtype: DType) -> DType:
    """The dtype of the memory of elements of ``dtype``."""
    row = stored_dtype(dtype)
    return dtype if row is None else row.storage


def computed_in(dtype: DType) -> DType:
    """The dtype of variables that hold values of ``dtype``."""
    row = stored_dtype(dtype)
    return dtype if row is None else row.computed


class _Rewriting:
    """The pass over one kernel; each expression is rewritten once."""

    def __init__(self) -> None:
        self.found = False
        self._memo: dict[int, tuple[Expr, Expr]] = {}  # keyed by id; the value holds the node
        self._functions: dict[str, Function] = {}
        self._in_records: set[str] = set()
        """Variables of record slots, which are loaded and stored back as they are."""

    # -- declarations -----------------------------------------------------------------------

    def param(self, param: Record | Argument) -> Record | Argument:
        if isinstance(param, Argument):
            var = self.var(param.var)
            return param if var is param.var else Argument(var)
        slots = tuple(map(self.slot, param.slots))
        changed = any(new is not old for new, old in zip(slots, param.slots, strict=True))
        return evolve(param, slots=slots) if changed else param

    def slot(self, slot: Slot) -> Slot:
        target = slot.target
        if isinstance(target, Var) and stored_dtype(concrete(target.type)) is not None:
            self._in_records.add(target.name)
        new = self.buffer(target) if isinstance(target, Buffer) else self.var(target)
        return slot if new is target else evolve(slot, target=new)

    def function(self, function: Function) -> Function:
        params = tuple(
            self.buffer(p) if isinstance(p, Buffer) else self.var(p) for p in function.params
        )
        body = self.block(function.body)
        new = evolve(function, params=params, dtype=computed_in(function.dtype), body=body)
        self._functions[function.name] = new
        return new

    def buffer(self, buffer: Buffer) -> Buffer:
        dtype = stored_in(buffer.dtype)
        if dtype is buffer.dtype:
            return buffer
        self.found = True
        return evolve(buffer, dtype=dtype)

    def var(self, var: Var) -> Var:
        row = stored_dtype(concrete(var.type))
        if row is None:
            return var
        self.found = True
        return Var(var.name, row.storage if var.name in self._in_records else row.computed)

    # -- statements -------------------------------------------------------------------------

    def block(self, block: Block) -> Block:
        return with_statements(block, map(self.statement, block.statements))

    def statement(self, statement: Statement) -> Statement:
        expressions = tuple(map(self.expr, statement.expressions))
        if isinstance(statement, (Store, Fill)):
            value = _encoded(expressions[-1], statement.buffer.dtype)
            expressions = (*expressions[:-1], value)
        elif isinstance(statement, Assign) and statement.var.name in self._in_records:
            expressions = (_encoded(expressions[0], concrete(statement.var.type)),)
        statement = with_expressions(statement, expressions)
        statement = self._targets(statement)
        return with_blocks(statement, tuple(map(self.block, statement.blocks)))

    def _targets(self, statement: Statement) -> Statement:
        """``statement`` with its own variables and buffers replaced."""
        new: dict[str, Any] = {}
        for name in _TARGETS:
            old = getattr(statement, name, None)
            if isinstance(old, Buffer):
                new[name] = self.buffer(old)
            elif isinstance(old, Var):
                new[name] = self.var(old)
        if isinstance(statement, Parallel):
            new["private"] = tuple(map(self._private, statement.private))
            new["shared"] = tuple(map(self.buffer, statement.shared))
        changed = any(new[name] is not getattr(statement, name) for name in new)
        return evolve(statement, **new) if changed else statement  # type: ignore[misc]

    def _private(self, private: Private) -> Private:
        target, init = private.target, private.init
        if isinstance(target, Buffer):
            return evolve(private, target=self.buffer(target))
        row = stored_dtype(concrete(target.type))
        if row is None or init is None:
            return private
        bits = np.asarray(init.value).astype(concrete(init.type)).view(row.storage)[()]
        var = self.var(target)
        kept = Literal(bits, row.storage) if var.name in self._in_records else self.expr(init)
        assert isinstance(kept, Literal), "what a private variable begins with is a constant"
        return Private(var, kept)

    # -- expressions ------------------------------------------------------------------------

    def expr(self, expr: Expr) -> Expr:
        found = self._memo.get(id(expr))
        if found is None:
            found = self._memo[id(expr)] = (expr, self._rewritten(expr))
        return found[1]

    @singledispatchmethod
    def _rewritten(self, expr: Expr) -> Expr:
        return with_children(expr, tuple(map(self.expr, expr.children)))

    @_rewritten.register(Var)
    def _(self, expr: Var) -> Expr:
        row, var = stored_dtype(concrete(expr.type)), self.var(expr)
        if row is None or row.decode is None or expr.name not in self._in_records:
            return var
        return Call(row.decode, (var,))

    @_rewritten.register(Literal)
    def _(self, expr: Literal) -> Expr:
        dtype = concrete(expr.type)
        row = stored_dtype(dtype)
        if row is None:
            return expr
        self.found = True
        return Literal(row.value_of(np.asarray(expr.value).astype(dtype)), row.computed)

    @_rewritten.register(Load)
    def _(self, expr: Load) -> Expr:
        index, row = self.expr(expr.index), stored_dtype(expr.buffer.dtype)
        if row is None:
            return with_children(expr, (index,))
        loaded = Load(self.buffer(expr.buffer), index)
        return loaded if row.decode is None else Call(row.decode, (loaded,))

    @_rewritten.register(Length)
    def _(self, expr: Length) -> Expr:
        buffer = self.buffer(expr.buffer)
        return expr if buffer is expr.buffer else Length(buffer)

    @_rewritten.register(Overlaps)
    def _(self, expr: Overlaps) -> Expr:
        pair = self.buffer(expr.first), self.buffer(expr.second)
        return expr if pair == (expr.first, expr.second) else Overlaps(*pair)

    @_rewritten.register(Invoke)
    def _(self, expr: Invoke) -> Expr:
        args = tuple(self.buffer(a) if isinstance(a, Buffer) else self.expr(a) for a in expr.args)
        return Invoke(self._functions[expr.function.name], args)

    @_rewritten.register(Cast)
    def _(self, expr: Cast) -> Expr:
        source, target = concrete(expr.value.dtype), expr.type
        value = self.expr(expr.value)
        rows = [row for row in map(stored_dtype, (source, target)) if row is not None]
        if not rows:
            return with_children(expr, (value,))
        self.found = True
        for row in rows:
            try:
                given = _expression(row, "cast", value, source, target)
            except TypeError as error:
                raise FormatError(f"{source} is not converted to {target}: {error}") from None
            if given is not None:
                return given
        return _rounded(cast(value, computed_in(target)), stored_dtype(target))

    @_rewritten.register(Call)
    def _(self, expr: Call) -> Expr:
        args = tuple(map(self.expr, expr.args))
        types = tuple(concrete(arg.dtype) for arg in expr.args)
        result = concrete(expr.dtype)
        rows = [row for row in map(stored_dtype, (*types, result)) if row is not None]
        if not rows:
            return with_children(expr, args)
        self.found = True
        given = _expression(rows[0], "call", expr.op, args, types, result)
        if given is not None:
            return given
        value = cast(Call(expr.op, args), computed_in(result))
        return value if _selects(expr) else _rounded(value, stored_dtype(result))


def _expression(row: StoredDtype, method: str, *args: Any) -> Expr | None:
    """The expression that a row gives, or None; ``PluginError`` for anything else."""
    found = asked(row, method, *args)
    if found is None or isinstance(found, Expr):
        return found
    raise PluginError(
        f"{method} of {what_of(row)} gives {found!r:.60}, which is not an expression",
        hint="it returns an expression of its operands, or None for the usual meaning",
    )


_TARGETS = ("var", "buffer", "target", "source", "first", "second")
"""The attributes of statements that are variables or buffers."""


def _selects(expr: Call) -> bool:
    """Whether the value is that of one of the operands, so that it needs no rounding."""
    return expr.op.selects or expr.op is prim.ifelse


def _rounded(value: Expr, row: StoredDtype | None) -> Expr:
    """A value in ``row.computed`` rounded to what can be stored."""
    if row is None or row.encode is None or row.decode is None:
        return value
    return Call(row.decode, (Call(row.encode, (value,)),))


def _encoded(value: Expr, dtype: DType) -> Expr:
    row = stored_dtype(dtype)
    if row is None or row.encode is None:
        return value
    if isinstance(value, Call) and value.op is row.decode:  # rounded already
        return value.args[0]
    return Call(row.encode, (value,))


__all__ = ["computed_in", "stored_in", "typed_and_stored", "without_stored_dtypes"]
