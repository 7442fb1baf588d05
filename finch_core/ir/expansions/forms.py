"""The table of forms: for an operator on a kind of dtypes, or a cast, a function of assembly.

A form gets a builder and the operands, and returns the result as an expression. It may use other
operators, whatever they are in terms of, and its own on operands for which all languages agree: no
divisor 0, no shift by the width or more, no number that the target of a cast cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from finch_core.ir.assembly import Function
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import concrete, is_tuple
from finch_core.ir.expressions import Call, Cast, Expr, Var, call
from finch_core.ir.operators import operator
from finch_core.ir.typing import typed_function

DType = np.dtype[Any]
Form = Callable[..., Expr]
Key = tuple[str, tuple[DType, ...], DType]
"""An operator's name, or ``CAST``, with the dtypes of operands and result."""

CAST = "cast"
HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)
NARROW, WIDE = np.dtype(np.complex64), np.dtype(np.complex128)

FORMS: dict[tuple[str, str], Form] = {}
"""Forms by the operator's name and the kind of its first operand's dtype."""
CASTS: dict[tuple[str, str], Form] = {}
"""Forms of casts, by the kinds or the names of both dtypes; the target's is the last operand."""
IN_DOUBLES: set[str] = set()
"""Functions of complex numbers, which have one form, in double precision."""


def form(*names: str, kinds: str) -> Callable[[Form], Form]:
    """Puts a form into the table, for operators of these names on dtypes of these kinds."""

    def enter(made: Form) -> Form:
        FORMS.update({(name, kind): made for name in names for kind in kinds})
        return made

    return enter


def apply(name: str, *args: Any) -> Expr:
    """The operator of this name on expressions and numbers."""
    return call(operator(name), *args)


def choose(cond: Any, first: Any, second: Any) -> Expr:
    """One of two values; the other is not evaluated."""
    return apply("ifelse", cond, first, second)


def key_of(expr: Call | Cast) -> Key:
    """What the form of a typed expression depends on."""
    name = CAST if isinstance(expr, Cast) else expr.op.name
    dtypes = tuple(concrete(child.dtype) for child in expr.children)
    return name, dtypes, concrete(expr.dtype)


def assembly_form(expr: Call | Cast) -> Function | None:
    """The function of assembly that computes ``expr`` from its operands, ``None`` if there is no
    form of it: it is what others are in terms of."""
    return form_of(key_of(expr))


@cache
def form_of(key: Key) -> Function | None:
    """``assembly_form``, by key."""
    made = _form(key)
    if made is None:
        return None
    name, dtypes, result = key
    params = tuple(Var(letter, dtype) for letter, dtype in zip("xyz", dtypes, strict=False))
    b = Builder(Names("xyz"))
    b.ret(made(b, *params))
    words = [name, *map(_spelled, dtypes), *([_spelled(result)] if name == CAST else [])]
    return typed_function(Function("_".join(words), params, result, b.finish()))


def _spelled(dtype: DType) -> str:
    """A dtype as part of a name."""
    return "_".join(["tuple", str(dtype.itemsize)]) if is_tuple(dtype) else dtype.name


def _form(key: Key) -> Form | None:
    name, dtypes, result = key
    if any(map(is_tuple, (*dtypes, result))):
        return None
    if name == CAST:
        made = CASTS.get((dtypes[0].name, result.name), CASTS.get((dtypes[0].kind, result.kind)))
        return None if made is None else lambda b, x: made(b, x, result)
    if HALF in dtypes and name not in ("ifelse", "tobits"):
        return lambda b, *args: _in_single(name, args, result)
    if dtypes[0] == NARROW and name in IN_DOUBLES:
        return lambda b, *args: apply(name, *(arg.cast(WIDE) for arg in args)).cast(NARROW)
    return FORMS.get((name, dtypes[0].kind))


def _in_single(name: str, args: tuple[Expr, ...], result: DType) -> Expr:
    """Half precision is only stored: operators compute in single precision, as NumPy's do."""
    return apply(name, *(arg.cast(SINGLE) for arg in args)).cast(result)


__all__ = ["assembly_form", "form"]
