"""Dates and times: NumPy's datetime64 and timedelta64 in any unit, stored as int64.

``NaT`` is the smallest integer; it is carried through arithmetic, compares as NaN does, and may be
a fill.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.expressions import FALSE, Expr, Literal, call, cast
from finch_core.ir.stored_dtypes import StoredDtype
from finch_core.plugins import hookimpl

if TYPE_CHECKING:
    from finch_core.operators import Operator

DType = np.dtype[Any]
INT64: DType = np.dtype(np.int64)
FLOAT64: DType = np.dtype(np.float64)
BOOL: DType = np.dtype(np.bool_)
NAT = Literal(np.int64(-(2**63)), INT64)
NAN = Literal(np.float64(np.nan), FLOAT64)
ZERO = Literal(np.int64(0), INT64)


def is_date(dtype: DType) -> bool:
    """Whether ``dtype`` is a datetime64 or timedelta64 with a unit."""
    return dtype.kind in "mM" and np.datetime_data(dtype)[0] != "generic"


# -- operators --------------------------------------------------------------------------------


def _missing(*values: Expr) -> Expr:
    found = [value.eq(NAT) for value in values if value.dtype == INT64]
    whole = found[0]
    for one in found[1:]:
        whole = whole.or_(one)
    return whole


def _carried(value: Expr, *operands: Expr) -> Expr:
    """``value``, or ``NaT`` where one of the operands is."""
    return call(prim.ifelse, _missing(*operands), NAT, value)


def _compared(op: Operator) -> Callable[..., Expr]:
    def rule(a: Expr, b: Expr) -> Expr:
        holds = call(op, a, b)
        if op is prim.ne:
            return _missing(a, b).or_(holds)
        return _missing(a, b).not_().and_(holds)

    return rule


def _better(op: Operator) -> Callable[..., Expr]:
    compared = _compared(op)

    def rule(a: Expr, *others: Expr) -> Expr:
        for b in others:
            a = call(prim.ifelse, compared(b, a), b, a)
        return a

    return rule


def _product(a: Expr, b: Expr) -> Expr:
    if FLOAT64 in (a.dtype, b.dtype):
        spans = [value for value in (a, b) if value.dtype == INT64]
        return _carried(cast(cast(a, FLOAT64) * cast(b, FLOAT64), INT64), *spans)
    return a * b  # one of them is a count, which may be the number that stands for NaT


def _truncated(a: Expr, b: Expr) -> Expr:
    """The quotient of integers, rounded towards zero."""
    whole = call(prim.floordiv, call(prim.absolute, a), call(prim.absolute, b))
    return call(prim.ifelse, (a < ZERO).ne(b < ZERO), ZERO - whole, whole)


def _ratio(a: Expr, b: Expr) -> Expr:
    return call(prim.truediv, cast(a, FLOAT64), cast(b, FLOAT64))


_SAME: Callable[..., Expr] = lambda value: value  # noqa: E731
_RULES: dict[str, Callable[..., Expr]] = {
    "add": lambda a, b: _carried(a + b, a, b),
    "sub": lambda a, b: _carried(a - b, a, b),
    "neg": lambda a: _carried(ZERO - a, a),
    "abs": lambda a: _carried(call(prim.absolute, a), a),
    "sign": lambda a: call(prim.sign, a),  # NumPy gives -1 for NaT
    "minimum": lambda a, b: _carried(call(prim.minimum_, a, b), a, b),
    "maximum": lambda a, b: _carried(call(prim.maximum_, a, b), a, b),
    "min": _better(prim.lt),
    "max": _better(prim.gt),
    **{op.name: _compared(op) for op in prim.COMPARISONS},
    "isnan": lambda a: a.eq(NAT),
    "isfinite": lambda a: a.ne(NAT),
    "isinf": lambda a: FALSE,
    "real": _SAME,
    "conj": _SAME,
    "imag": lambda a: ZERO,
}
"""The meaning of operators on numbers of units. ``NaT`` is a number like any other to them."""


def _divided(name: str, a: Expr, b: Expr, types: tuple[Any, ...]) -> Expr:
    """Quotients and remainders: of two spans of time, or of a span and a number, where NumPy's
    ``//`` rounds towards zero as its ``/`` does."""
    if types[1].kind == "f":
        return _carried(cast(_ratio(a, b), INT64), a)
    if types[1].kind != "m":
        return call(prim.ifelse, _missing(a).or_(b.eq(ZERO)), NAT, _truncated(a, b))
    if name == "truediv":
        return call(prim.ifelse, _missing(a, b), NAN, _ratio(a, b))
    undefined = _missing(a, b).or_(b.eq(ZERO))
    if name == "mod":
        return call(prim.ifelse, undefined, NAT, call(prim.mod, a, b))
    return call(prim.ifelse, undefined, ZERO, call(prim.floordiv, a, b))


def _call(op: Operator, args: tuple[Expr, ...], types: tuple[Any, ...], result: Any) -> Expr | None:
    if op.name in ("truediv", "floordiv", "mod"):
        first, second = args
        return _divided(op.name, first, second, types)
    if op.name == "mul":
        spans = [a for a, t in zip(args, types, strict=True) if t.kind == "m"]
        return _carried(_product(*args), *spans)
    rule = _RULES.get(op.name)
    return None if rule is None else rule(*args)


# -- casts --------------------------------------------------------------------------------------


def _scale(source: DType, target: DType) -> tuple[int, int]:
    """The unit of ``source`` in that of ``target``, as a fraction. Raises ``TypeError`` where a
    calendar decides."""
    try:
        units = map(np.datetime_data, (source, target))
        spans = [np.dtype(f"m8[{count}{unit}]") for unit, count in units]
        common = np.promote_types(*spans)
        sizes = [int(np.ones((), t).astype(common).astype(np.int64)) for t in spans]
    except TypeError:
        raise TypeError("a calendar decides, not a factor") from None
    return sizes[0], sizes[1]


def _cast(value: Expr, source: DType, target: DType) -> Expr | None:
    if is_date(source) and is_date(target):
        if np.datetime_data(source) == np.datetime_data(target):
            return value
        times, by = _scale(source, target)
        scaled = value * np.int64(times) if times != 1 else value
        if by != 1:
            scaled = call(prim.floordiv, scaled, Literal(np.int64(by), INT64))
        return _carried(scaled, value)
    if target.kind == "b":
        return value.ne(ZERO)
    return None


@hookimpl
def finch_dtypes() -> Any:
    """Dates and spans of time, in any unit."""
    return StoredDtype("dates", is_date, INT64, INT64, call=_call, cast=_cast)
