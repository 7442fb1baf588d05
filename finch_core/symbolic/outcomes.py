"""Outcomes: the set of constants that an expression can evaluate to, where it is small and known.

    a if c > 0 else -a        where a is 0.0:  0.0 or -0.0

A store of a value that equals the fill in every case stores nothing.
"""

from __future__ import annotations

from itertools import product

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete, is_weak
from finch_core.ir.expressions import Call, Cast, Expr, Literal, alike, cast, fold_literals
from finch_core.ir.operators import expanded, literal_value
from finch_core.ir.rewrite import rewrite_expr

MOST = 8
"""The largest number of outcomes that is considered."""


def outcomes(expr: Expr) -> tuple[Literal, ...]:
    """The constants that ``expr`` can evaluate to; empty if they are unknown or too many."""
    if isinstance(expr, Literal):
        return (expr,)
    if isinstance(expr, Cast):
        return tuple(cast(found, expr.type) for found in outcomes(expr.value))  # type: ignore[misc]
    if not isinstance(expr, Call):
        return ()
    if expr.op is prim.ifelse:
        return _either(*expr.args[1:])
    return _combined(expr)


def equals(expr: Expr, value: Literal) -> bool:
    """Whether ``expr``, stored in the dtype of ``value``, equals (``==``) it in every case."""
    dtype = concrete(value.type)
    wanted = literal_value(value.value, dtype)
    found = outcomes(expr)
    return bool(found) and all(
        alike(literal_value(literal_value(one.value, one.type), dtype), wanted) for one in found
    )


def _either(yes: Expr, no: Expr) -> tuple[Literal, ...]:
    first = outcomes(yes)
    second = outcomes(no) if first else ()
    found = dict.fromkeys((*first, *second)) if second else {}
    return tuple(found) if len(found) <= MOST else ()


def _combined(expr: Call) -> tuple[Literal, ...]:
    """The outcomes of an operator, from those of its operands."""
    parts: list[tuple[Literal, ...]] = []
    count = 1
    for arg in expr.args:
        found = outcomes(arg)
        count *= len(found)
        if not 0 < count <= MOST:
            return ()
        parts.append(found)
    values = [constant_call(Call(expr.op, args)) for args in product(*parts)]
    known = [value for value in values if value is not None]
    return tuple(dict.fromkeys(known)) if len(known) == len(values) else ()


def constant_call(call: Call) -> Literal | None:
    """The value of an operator on constants, by its definition if it has one; None if an operand
    is not a constant."""
    if not all(isinstance(arg, Literal) for arg in call.args):
        return None
    if call.op.definition is None:
        return fold_literals(call.op, call.args)  # type: ignore[arg-type]
    wanted, result = call.op.typing(tuple(arg.dtype for arg in call.args))
    typed = zip(call.args, wanted, strict=True)
    args = (arg if is_weak(type) else cast(arg, concrete(type)) for arg, type in typed)
    value = rewrite_expr(expanded(call.op, tuple(args)), _folded_node)
    if not isinstance(value, Literal):
        return None
    return value if is_weak(result) else cast(value, concrete(result))  # type: ignore[return-value]


def _folded_node(expr: Expr) -> Expr:
    found = constant_call(expr) if isinstance(expr, Call) else None
    return expr if found is None else found


__all__ = ["constant_call", "equals", "outcomes"]
