"""Typing of assembly: weak types are replaced, and every conversion becomes a ``Cast``.

A ``Call``'s arguments are cast to the types of its operator's typing rule, values to the dtype
of their target, indices and sizes to int64, conditions to bool. Defined operators are expanded,
so that backends see primitives only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, singledispatch
from operator import is_not
from typing import Any

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Argument,
    Assign,
    Block,
    Fill,
    For,
    Function,
    If,
    Kernel,
    Let,
    Record,
    Return,
    Statement,
    Store,
    While,
)
from finch_core.ir.assembly_rewrite import (
    names_in,
    with_blocks,
    with_children,
    with_expressions,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import BOOL, INTP, Type, concrete, is_tuple, is_weak, tuple_fields
from finch_core.ir.expected import integer, require_held
from finch_core.ir.expressions import (
    FALSE,
    TRUE,
    Buffer,
    Call,
    Cast,
    Expr,
    Invoke,
    Literal,
    Load,
    Var,
    cast,
)
from finch_core.ir.kept import kept
from finch_core.ir.operators import Operator, expanded
from finch_core.records import evolve

DType = np.dtype[Any]
UINT64 = np.dtype(np.uint64)
_LAZY = (prim.and_, prim.or_, prim.ifelse)


def typed(block: Block, returns: DType | None = None, names: Names | None = None) -> Block:
    """``block`` with all types explicit; ``returns`` is the dtype of ``Return`` values.

    ``names`` makes the names of new variables; without it, they differ from all names in
    ``block``.
    """
    return _Typing(returns, names or partial(_other_names, block)).block(block)


def _other_names(block: Block) -> Names:
    return Names(names_in(block))


def typed_function(function: Function, dtypes: set[DType] | None = None) -> Function:
    """``function`` with a typed body; ``dtypes`` as for ``typed_kernel``."""

    def names() -> Names:
        return Names({param.name for param in function.params} | names_in(function.body))

    body = _typed_body(function.body, function.dtype, names, dtypes)
    return function if body is function.body else evolve(function, body=body)


def typed_kernel(kernel: Kernel, dtypes: set[DType] | None = None) -> Kernel:
    """``kernel`` with its body and functions typed; the dtypes of all expressions in them are added
    to ``dtypes``."""
    functions = tuple([typed_function(function, dtypes) for function in kernel.functions])
    body = _typed_body(kernel.body, None, lambda: Names(kernel_names(kernel)), dtypes)
    return evolve(kernel, body=body, functions=functions)


def _typed_body(
    block: Block, returns: DType | None, names: Callable[[], Names], dtypes: set[DType] | None
) -> Block:
    typing = _Typing(returns, names)
    body = typing.block(block)
    if dtypes is not None:
        dtypes |= typing.dtypes
    return body


def kernel_names(kernel: Kernel) -> set[str]:
    """All names of a kernel's parameters and body."""
    names = names_in(kernel.body)
    for param in kernel.params:
        if isinstance(param, Argument):
            names.add(param.var.name)
        else:
            assert isinstance(param, Record)
            names |= {slot.target.name for slot in param.slots}
    return names


def lengths(kernel: Kernel) -> set[str]:
    """The names of variables that are lengths of dimensions of the kernel's tensors."""
    records = [param for param in kernel.params if isinstance(param, Record)]
    return {slot.target.name for record in records for slot in record.slots if slot.length}


def converted(value: Expr, dtype: DType) -> Expr:
    """A typed ``value`` converted to ``dtype``; tuples are converted field by field."""
    if isinstance(value, Literal) or not is_tuple(dtype) or value.dtype == dtype:
        return cast(value, dtype)
    fields = (
        converted(Call(prim.field(k), (value,)), field)
        for k, field in enumerate(tuple_fields(dtype))
    )
    return Call(prim.make_tuple, tuple(fields))


class _Typing:
    """The pass over one block: linear, as each expression object is typed once.

    ``_lets`` collects variables for operands that a definition uses more than once; it is
    ``None`` where an expression may be skipped or evaluated more than once.
    """

    def __init__(self, returns: DType | None, names: Names | Callable[[], Names]) -> None:
        self.returns = returns
        self._names = names
        """Makes the names of variables; few programs need any."""
        self._lets: list[Statement] | None = None
        self.dtypes: set[DType] = set()
        """The dtypes of the expressions so far, and of what is declared."""
        self._typings: dict[tuple[Operator, tuple[Type, ...]], tuple[DType, ...]] = {}
        """The dtypes of the arguments that operators take."""
        self._memo: dict[int, tuple[Expr, Expr]] = {}  # keyed by id; the value holds the node
        self._local: dict[int, tuple[Expr, Expr]] = {}  # for one statement: may use its lets

    # -- statements -----------------------------------------------------------------------------

    def block(self, block: Block) -> Block:
        statements: list[Statement] = []
        for statement in block.statements:
            lets: list[Statement] = []
            done = self.statement(statement, lets)
            statements += [*lets, done]
        return with_statements(block, statements)

    def statement(self, statement: Statement, lets: list[Statement]) -> Statement:
        """``statement`` typed; declarations that must precede it are added to ``lets``."""
        self._local = {}
        self._lets = None if isinstance(statement, While) else lets
        wanted = _wanted(statement, self.returns)
        expressions = tuple(map(self.value, statement.expressions, wanted))
        statement = with_expressions(_concrete_target(statement), expressions)
        return with_blocks(statement, tuple(map(self.block, statement.blocks)))

    def value(self, expr: Expr, dtype: DType) -> Expr:
        """``expr`` typed and converted to ``dtype``."""
        self.dtypes.add(dtype)
        if isinstance(expr, Literal):
            return _literal(expr, dtype)
        return converted(self.expr(expr), dtype)

    # -- expressions ----------------------------------------------------------------------------

    def expr(self, expr: Expr) -> Expr:
        """``expr`` typed, in the concrete dtype of its own type."""
        memo = self._local if _has_definition(expr) else self._memo
        found = memo.get(id(expr))
        if found is None:
            found = memo[id(expr)] = (expr, self._typed(expr))
            self.dtypes.add(concrete(found[1].dtype))
        return found[1]

    def _typed(self, expr: Expr) -> Expr:
        if isinstance(expr, Literal):
            return _literal(expr, concrete(expr.type))
        if isinstance(expr, Var):
            return _variable(expr)
        if isinstance(expr, Call):
            return self._call(expr)
        if isinstance(expr, Cast):
            return self._cast(expr)
        if isinstance(expr, Load):
            integer(expr.index, f"an index of {expr.buffer.name}")
            return with_children(expr, (self.value(expr.index, INTP),))
        if isinstance(expr, Invoke):
            params = [p.dtype for p in expr.function.params if not isinstance(p, Buffer)]
            values = map(self.value, expr.children, map(concrete, params))
            return with_children(expr, tuple(values))
        return expr

    def _cast(self, expr: Cast) -> Expr:
        value = self.expr(expr.value)
        if value is expr.value and value.dtype != expr.type and not is_tuple(expr.type):
            return expr
        return converted(value, expr.type)

    def _call(self, expr: Call) -> Expr:
        if expr.op in prim.COMPARISONS and _mixes_signs(expr):
            return self._compared(expr)
        wanted = self._wanted(expr.op, tuple([a.dtype for a in expr.args]))
        if expr.op in _ARITHMETIC:
            for arg, dtype in zip(expr.args, wanted, strict=True):
                require_held(arg, dtype)
        args = self._arguments(expr, wanted)
        if expr.op.definition is None:
            return Call(expr.op, args) if any(map(is_not, args, expr.args)) else expr
        meaning = expanded(expr.op, tuple(map(self._once, args)))
        return self.value(meaning, concrete(expr.dtype))

    def _wanted(self, op: Operator, types: tuple[Type, ...]) -> tuple[DType, ...]:
        """The dtypes of the arguments that ``op`` takes for those of these types."""
        found = self._typings.get((op, types))
        if found is None:
            found = self._typings[op, types] = tuple(map(concrete, op.typing(types)[0]))
        return found

    def _compared(self, expr: Call) -> Expr:
        """A comparison of a signed integer with a uint64, exact as NumPy's: no integer dtype holds
        the values of both, and a negative number is less than all of a uint64."""
        first, second = expr.args
        is_first = concrete(first.dtype).kind == "i"
        low, high = (first, second) if is_first else (second, first)
        holds = expr.op in (_BELOW if is_first else _ABOVE)
        if isinstance(low, Literal) and low.value < 0:
            return TRUE if holds else FALSE
        low = low if isinstance(low, Literal) else self._once(self.expr(low))
        pair = cast(low, UINT64), self.value(high, UINT64)
        same = Call(expr.op, pair if is_first else pair[::-1])
        if isinstance(low, Literal):
            return same
        zero = Literal(0, int).cast_to(concrete(low.dtype))
        if holds:
            return Call(prim.or_, (Call(prim.lt, (low, zero)), same))
        return Call(prim.and_, (Call(prim.ge, (low, zero)), same))

    def _arguments(self, expr: Call, wanted: tuple[DType, ...]) -> tuple[Expr, ...]:
        """The arguments converted to ``wanted``; no variables are made for those that may be
        skipped."""
        if expr.op not in _LAZY:
            return tuple(map(self.value, expr.args, wanted))
        first = self.value(expr.args[0], wanted[0])
        lets, self._lets = self._lets, None
        rest = tuple(map(self.value, expr.args[1:], wanted[1:]))
        self._lets = lets
        return (first, *rest)

    def _once(self, arg: Expr) -> Expr:
        """An argument that a definition may use more than once, in a variable."""
        if self._lets is None or isinstance(arg, (Var, Literal)):
            return arg
        if not isinstance(self._names, Names):
            self._names = self._names()
        var = Var(self._names.fresh("t"), arg.dtype)
        self._lets.append(Let(var, arg))
        return var


@kept("_defined")
def _has_definition(expr: Expr) -> bool:
    """Whether an operator in ``expr`` is an expression of others, for which variables may be made:
    one that has a definition, or a comparison of mixed signs."""
    own = isinstance(expr, Call) and (
        expr.op.definition is not None or (expr.op in prim.COMPARISONS and _mixes_signs(expr))
    )
    return own or any(map(_has_definition, expr.children))


_ARITHMETIC = frozenset({prim.add, prim.sub, prim.mul, prim.floordiv, prim.mod})
"""The operators of numbers, with one that would wrap."""

_BELOW = frozenset({prim.lt, prim.le, prim.ne})
_ABOVE = frozenset({prim.gt, prim.ge, prim.ne})
"""The comparisons that hold where the first operand is below, and above, the second."""


def _mixes_signs(expr: Call) -> bool:
    """Whether one of the two operands is a signed integer and the other a uint64."""
    dtypes = [concrete(arg.dtype) for arg in expr.args]
    signed = sum(dtype.kind == "i" for dtype in dtypes)
    return signed == 1 and UINT64 in dtypes


def _literal(expr: Literal, dtype: DType) -> Literal:
    """A constant as ``dtype`` (``expressions.cast`` takes the weak ``int`` for int64)."""
    return expr if not is_weak(expr.type) and expr.type == dtype else expr.cast_to(dtype)


def _variable(var: Var) -> Var:
    return Var(var.name, concrete(var.type)) if is_weak(var.type) else var


# -- the types that each statement requires -----------------------------------------------------


@singledispatch
def _wanted(statement: Statement, returns: DType | None) -> tuple[DType, ...]:
    """The required dtypes of ``statement.expressions``: int64 for indices and sizes."""
    return (INTP,) * len(statement.expressions)


@_wanted.register(Let)
@_wanted.register(Assign)
def _(statement: Let | Assign, returns: DType | None) -> tuple[DType, ...]:
    return (concrete(statement.var.type),)


@_wanted.register(Store)
def _(statement: Store, returns: DType | None) -> tuple[DType, ...]:
    return (INTP, statement.buffer.dtype)


@_wanted.register(Fill)
def _(statement: Fill, returns: DType | None) -> tuple[DType, ...]:
    return (INTP, INTP, statement.buffer.dtype)


@_wanted.register(While)
@_wanted.register(If)
def _(statement: While | If, returns: DType | None) -> tuple[DType, ...]:
    return (BOOL,)


@_wanted.register(Return)
def _(statement: Return, returns: DType | None) -> tuple[DType, ...]:
    assert returns is not None, "a return outside of a function"
    return (returns,)


def _concrete_target(statement: Statement) -> Statement:
    """``statement`` with a concrete dtype for its variable; a loop index is int64."""
    if isinstance(statement, (Let, Assign, For)) and is_weak(statement.var.type):
        return evolve(statement, var=_variable(statement.var))
    return statement
