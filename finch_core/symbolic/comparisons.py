"""The rules of the simplifier (``symbolic.algebra``) on comparisons, ``not`` and ``ifelse``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete, is_tuple, is_weak, same
from finch_core.ir.expressions import FALSE, TRUE, Call, Expr, Literal, alike, cast
from finch_core.ir.operators import Operator, literal_value
from finch_core.records import evolve


def same_type(expr: Expr, call: Call) -> Expr:
    """``expr`` cast to the type of ``call``."""
    if is_weak(call.dtype) or same(expr.dtype, call.dtype):
        return expr
    return cast(expr, concrete(call.dtype))


def equals(literal: Literal, value: Any, dtype: Any) -> bool:
    """Whether a constant is ``value`` in a dtype, bit by bit; ``value`` may be None: not known."""
    if value is None or is_tuple(literal.type):
        return False
    return alike(literal_value(literal.value, dtype), value)


def select(call: Call) -> Expr | None:
    """``yes if cond else no`` with a condition that is known, or two equal values."""
    cond, yes, no = call.args
    if isinstance(cond, Literal):
        return same_type(yes if cond.value else no, call)
    if yes == no:
        return same_type(yes, call)
    if isinstance(yes, Literal) and isinstance(
        no, Literal
    ):  # a fill and the same value as a constant
        one, other = (evolve(c, structural=True) for c in (yes, no))
        return same_type(one, call) if same_type(one, call) == same_type(other, call) else None
    return None


def opposite(call: Call) -> Expr | None:
    """``not`` of a comparison or of another ``not``."""
    (arg,) = call.args
    if not isinstance(arg, Call):
        return None
    if arg.op is prim.not_:
        return same_type(arg.args[0], call)
    total = all(concrete(a.dtype).kind in "iub" for a in arg.args)
    if arg.op in (prim.eq, prim.ne) or (total and arg.op in _OPPOSITE):
        return Call(_OPPOSITE[arg.op], arg.args)
    return None


_OPPOSITE = {
    prim.eq: prim.ne, prim.ne: prim.eq, prim.lt: prim.ge, prim.ge: prim.lt, prim.gt: prim.le,
    prim.le: prim.gt,
}  # fmt: skip


def reflexive(call: Call) -> Expr | None:
    """``x == x`` holds and ``x < x`` does not, but for floats, which may be NaN."""
    first, second = call.args
    if first == second and concrete(first.dtype).kind in "biu":
        return TRUE if call.op in (prim.eq, prim.le, prim.ge) else FALSE
    return None


def bounds(call: Call) -> Expr | None:
    """No value exceeds the maximum of its dtype or is below the minimum."""
    first, second = call.args
    op = call.op
    if op in (prim.gt, prim.ge):
        first, second, op = second, first, prim.lt if op is prim.gt else prim.le
    dtype, other = map(concrete, prim.lt.typing((first.dtype, second.dtype))[0])
    if dtype.kind not in "iuf" or dtype != other:
        return None
    largest, smallest = prim.minimum_.identity, prim.maximum_.identity
    assert largest is not None
    assert smallest is not None
    if op is prim.lt and (_is(first, largest, dtype) or _is(second, smallest, dtype)):
        return FALSE
    total = dtype.kind in "iu"  # a NaN compares false either way
    if op is prim.le and total and (_is(first, smallest, dtype) or _is(second, largest, dtype)):
        return TRUE
    return None


def _is(expr: Expr, bound: Callable[[Any], Any], dtype: Any) -> bool:
    return isinstance(expr, Literal) and equals(expr, bound(dtype), dtype)


def extremes(call: Call) -> Expr | None:
    """``min(x, y) <= x`` holds, and ``x < min(x, y)`` does not."""
    first, second = call.args
    op = call.op
    if op in (prim.gt, prim.ge):
        first, second, op = second, first, prim.lt if op is prim.gt else prim.le
    if not same_dtype(first, second) or concrete(first.dtype).kind not in "biu":
        return None
    if op is prim.le and (_among(first, second, _LEAST) or _among(second, first, _MOST)):
        return TRUE
    if op is prim.lt and (_among(second, first, _LEAST) or _among(first, second, _MOST)):
        return FALSE
    return None


_LEAST, _MOST = (prim.minimum_, prim.minimum), (prim.maximum_, prim.maximum)


def _among(expr: Expr, part: Expr, ops: tuple[Operator, ...]) -> bool:
    """Whether ``expr`` is a minimum (or maximum) of ``part`` and others."""
    return isinstance(expr, Call) and expr.op in ops and part in expr.args


def truth(call: Call) -> Expr | None:
    """A bool compared with a constant is that bool, or its negation."""
    for arg, other in zip(call.args, reversed(call.args), strict=True):
        if (
            isinstance(arg, Literal)
            and concrete(arg.type).kind == "b" == concrete(other.dtype).kind
        ):
            return other if bool(arg.value) is (call.op is prim.eq) else negation(other)
    return None


def negation(expr: Expr) -> Expr:
    """The negation of a bool."""
    return Call(prim.not_, (expr,))


def same_dtype(*exprs: Expr) -> bool:
    """Whether expressions have one dtype, all of them weak or none."""
    return len({(expr.dtype, is_weak(expr.dtype)) for expr in exprs}) == 1
