"""Expressions evaluated by NumPy on whole arrays, bit for bit as kernels evaluate them.

An expression is typed as assembly is: its operators are expanded into primitives, each conversion
is a cast. What is left has a function of NumPy that rounds as C does, or is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Block, Let, Statement
from finch_core.ir.assembly_rewrite import read_names
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Call, Cast, Expr, Literal, Var
from finch_core.ir.operators import Operator, cast_value, operator
from finch_core.ir.typing import typed

Values = Mapping[str, Any]
"""An array, or a number, for each variable."""
Code = Callable[[Values], Any]
EXACT_DTYPES = frozenset("?bhilqBHILQfdFD")
"""The dtypes in which NumPy computes as kernels do: half precision is not one of them."""


def function_of(value: Expr, dtype: np.dtype[Any]) -> Code | None:
    """A function that evaluates an expression of variables, in a dtype, on arrays of one length and
    numbers; None where NumPy might give other bits than a kernel."""
    statements = typed(Block((Let(Var("_value", dtype), Cast(value, dtype)),))).statements
    steps: list[tuple[str, Code]] = []
    for statement in statements:
        step = _step(statement)
        if step is None:
            return None
        steps.append(step)
    *before, (_, last) = steps
    if not before:
        return last

    def evaluate(values: Values) -> Any:
        known = dict(values)
        for name, code in before:
            known[name] = code(known)
        return last(known)

    return evaluate


def one_function(
    value: Expr, dtype: np.dtype[Any], *arrays: str
) -> tuple[np.ufunc, tuple[Code, ...]] | None:
    """The function of NumPy that an expression is of the variables ``arrays``, all of them, in a
    dtype, and its arguments: one of these, or a number made of others. None where that is more than
    one function, or might give other bits than a kernel."""
    statements = typed(Block((Let(Var("_value", dtype), Cast(value, dtype)),))).statements
    found = statements[0].value if isinstance(statements[0], Let) else None
    if len(statements) > 1 or not isinstance(found, Call):
        return None
    function, _ = _EXACT.get(found.op, (None, ""))
    args = [_code(arg) for arg in found.args]
    if not isinstance(function, np.ufunc) or _code(found) is None:
        return None
    if not read_names(found).issuperset(arrays):
        return None
    for arg in found.args:
        if not isinstance(arg, Var) and not read_names(arg).isdisjoint(arrays):
            return None
    return function, tuple([code for code in args if code is not None])


def _step(statement: Statement) -> tuple[str, Code] | None:
    if not isinstance(statement, Let):
        return None
    code = _code(statement.value)
    return None if code is None else (statement.var.name, code)


def _code(expr: Expr) -> Code | None:
    if concrete(expr.dtype).char not in EXACT_DTYPES:
        return None
    if isinstance(expr, Literal):
        number = cast_value(expr.value, concrete(expr.type))
        return lambda values: number
    if isinstance(expr, Var):
        return itemgetter(expr.name)
    if isinstance(expr, Cast):
        return _cast(expr)
    if not isinstance(expr, Call):
        return None
    function, kinds = _EXACT.get(expr.op, (None, ""))
    args = [_code(arg) for arg in expr.args]
    if function is None or None in args or concrete(expr.args[-1].dtype).kind not in kinds:
        return None
    return _applied(function, args)


def _applied(function: Callable[..., Any], args: list[Any]) -> Code:
    if len(args) == 1:
        (only,) = args
        return lambda values: function(only(values))
    if len(args) == 2:
        first, second = args
        return lambda values: function(first(values), second(values))
    return lambda values: function(*[arg(values) for arg in args])


def _cast(expr: Cast) -> Code | None:
    """A conversion, unless it may meet what the target dtype cannot hold: C leaves open what an
    integer of too large a float is."""
    code, target = _code(expr.value), expr.type
    kind = concrete(expr.value.dtype).kind
    holds = target.kind in {"f": "bfc", "c": "bc"}.get(kind, "biufc")
    if code is None or not holds:
        return None
    inner = code
    return lambda values: np.asarray(inner(values)).astype(target, copy=False)


def _lesser(a: Any, b: Any) -> Any:
    return np.where(b < a, b, a)


def _greater(a: Any, b: Any) -> Any:
    return np.where(b > a, b, a)


def _least(a: Any, b: Any) -> Any:
    return np.where((a < b) | (a != a), a, b)


def _greatest(a: Any, b: Any) -> Any:
    return np.where((a > b) | (a != a), a, b)


_EXACT: dict[Operator, tuple[Callable[..., Any], str]] = {
    prim.add: (np.add, "biufc"), prim.sub: (np.subtract, "iufc"), prim.mul: (np.multiply, "biuf"),
    prim.truediv: (np.true_divide, "f"), prim.floordiv: (np.floor_divide, "iu"),
    prim.mod: (np.remainder, "iu"), prim.neg: (np.negative, "iufc"),
    prim.absolute: (np.absolute, "iuf"), prim.conjugate: (np.conjugate, "iufc"),
    prim.minimum_: (_lesser, "iuf"), prim.maximum_: (_greater, "iuf"),
    prim.minimum: (_least, "iuf"), prim.maximum: (_greatest, "iuf"),
    prim.bitand: (np.bitwise_and, "biu"), prim.bitor: (np.bitwise_or, "biu"),
    prim.bitxor: (np.bitwise_xor, "biu"), prim.invert: (np.invert, "biu"),
    prim.lshift: (np.left_shift, "iu"), prim.rshift: (np.right_shift, "iu"),
    prim.eq: (np.equal, "biufc"), prim.ne: (np.not_equal, "biufc"),
    prim.lt: (np.less, "biuf"), prim.le: (np.less_equal, "biuf"),
    prim.gt: (np.greater, "biuf"), prim.ge: (np.greater_equal, "biuf"),
    prim.and_: (np.logical_and, "b"), prim.or_: (np.logical_or, "b"),
    prim.not_: (np.logical_not, "b"), prim.ifelse: (np.where, "biufc"),
    prim.real: (np.real, "fc"), prim.imag: (np.imag, "fc"),
    prim.isnan: (np.isnan, "fc"), prim.isinf: (np.isinf, "fc"),
    prim.isfinite: (np.isfinite, "fc"), prim.copysign: (np.copysign, "f"),
    **{operator(name): (getattr(np, name), "f") for name in prim.EXACT_OF_FLOATS},
}  # fmt: skip
"""The function of NumPy for an operator, and the kinds of dtypes of its last operand on which both
give the same bits."""


__all__ = ["EXACT_DTYPES", "Code", "function_of", "one_function"]
