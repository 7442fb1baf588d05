"""Comparisons of ``abs``, ``min`` and ``max`` of indices as comparisons of what is in them.

    abs(i - j) <= w        ->     0 - w <= i - j and i - j <= w
    max(i, j) < n          ->     i < n and j < n
    min(i, j) < n          ->     i < n or j < n

For these there are masks, which bound loops.
"""

from __future__ import annotations

from finch_core.ir import primitives as prim
from finch_core.ir.arithmetic import Call, Expr, Literal, call, cast
from finch_core.ir.dtypes import INTP, concrete
from finch_core.ir.expressions import Index
from finch_core.symbolic.affine import linear

_BELOW = {prim.lt: prim.gt, prim.le: prim.ge}
_ABOVE = {above: below for below, above in _BELOW.items()}
_EXTREMES = prim.absolute, prim.minimum_, prim.maximum_


def split_comparison(cond: Call) -> Call | None:
    """``cond`` as two comparisons, joined by ``and`` or ``or``; None if it is none that can be
    split."""
    if cond.op not in _BELOW and cond.op not in _ABOVE:
        return None
    (own, bound), op = cond.args, cond.op
    if not _is_extreme(own):
        own, bound, op = bound, own, _BELOW.get(op) or _ABOVE[op]
    if not _is_extreme(own) or not isinstance(own, Call) or concrete(bound.dtype).kind != "i":
        return None
    below = op in _BELOW
    if own.op is prim.absolute:
        (value,) = own.args
        other = (_BELOW if below else _ABOVE)[op]
        wide = cast(bound, INTP)  # the least number of a narrow type has no opposite
        first, second = Call(other, (value, call(prim.sub, 0, wide))), Call(op, (value, bound))
        return Call(prim.and_ if below else prim.or_, (first, second))
    first, second = (Call(op, (arg, bound)) for arg in own.args)
    both = below is (own.op is prim.maximum_)
    return Call(prim.and_ if both else prim.or_, (first, second))


def _is_extreme(expr: Expr) -> bool:
    """Whether this is ``abs``, ``min`` or ``max`` of sums of indices, whose opposites do not
    wrap; or of more of these."""
    if not isinstance(expr, Call) or expr.op not in _EXTREMES:
        return False
    if len(expr.args) > 2:
        return False
    terms = [part for arg in expr.args for _, part in linear(arg)]
    inner = any(_is_extreme(part) for part in terms)
    plain = all(isinstance(part, (Index, Literal)) or _is_extreme(part) for part in terms)
    return plain and (inner or any(isinstance(part, Index) for part in terms))


__all__ = ["split_comparison"]
