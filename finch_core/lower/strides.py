"""Strides: a range with a step is the least extent that holds its indices, and a step.

    range(a, b, 2)                  extent [a, a + 2 * ((b - a - 1) // 2) + 1), step 2
    range(n - 1, -1, -1)            extent [0, n), step -1
    reversed(range(a, b, 2))        the extent of range(a, b, 2), step -2

So dimensions are compared with the indices that are reached, in whichever direction.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from finch_core.interface.tensorlike import ZERO
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import INTP, Type, concrete, is_weak
from finch_core.ir.expressions import (
    Access,
    Cast,
    Expr,
    Literal,
    Name,
    Var,
    call,
    cast,
    lift,
)
from finch_core.ir.program import Extent
from finch_core.records import evolve
from finch_core.symbolic.prover import plus_constant

GREATEST = int(np.iinfo(INTP).max)


def ascending(extent: Extent, given: Container[Expr] = ()) -> tuple[Extent, Expr | None]:
    """The extent of a range, from its least index up to its greatest, and its step (None: 1).
    ``given`` are numbers of the caller's, which may be any."""
    if extent.backwards:
        found, step = ascending(evolve(extent, backwards=False), given)
        back = lift(-1) if step is None else negated(step)
        wide = Extent(_wide(found.start), _wide(found.stop))
        return wide, None if back == lift(1) else back
    if extent.step is None:
        return extent, None
    start, stop, step = map(_wide, (extent.start, extent.stop, extent.step))
    if isinstance(step, Literal):
        return (_upwards if step.value > 0 else _downwards)(start, stop, step, given), step
    up, down = _upwards(start, stop, step, given), _downwards(start, stop, step, given)
    ends = zip(up.children, down.children, strict=True)
    low, high = (call(prim.ifelse, step > 0, *pair) for pair in ends)
    return Extent(low, high), step


def held(end: Expr, type: Type) -> Expr:
    """An end of a range as the int64 that is nearest to it, since an index is one: what it is
    compared with is not of the dtype of the range. A computed uint64 may be greater than any.
    (Parameters are checked before the program runs.)"""
    if concrete(type) != np.uint64 or isinstance(end, (Var, Literal)):
        return _wide(end)
    return Cast(call(prim.minimum_, end, Literal(GREATEST, np.dtype(np.uint64))), INTP)


def is_positive(step: Expr) -> bool:
    """Whether a step is known to be positive."""
    return isinstance(step, Literal) and bool(step.value > 0)


def _upwards(start: Expr, stop: Expr, step: Expr, given: Container[Expr]) -> Extent:
    """It ends after the last index below ``stop`` that is so many steps from ``start``, also before
    ``start``: the size that an empty range tells does not depend on how its ends are written. What
    is below 0 tells none, and may be any that is not beyond ``start``."""
    if _is_near(start, stop, given):
        reach = _reach(start, stop, step)
    else:
        length = call(prim.maximum_, stop, start.min(ZERO)) - start
        least = lift(-1) - start.max(ZERO)
        reach = call(prim.maximum_, ((length - 1) // step) * step, least)
    return Extent(start, plus_constant(start + reach, 1))


def _downwards(start: Expr, stop: Expr, step: Expr, given: Container[Expr]) -> Extent:
    if step == lift(-1):
        last = call(prim.minimum_, stop, lift(GREATEST - 1)) if _is_any(stop, given) else stop
        return Extent(plus_constant(last, 1), plus_constant(start, 1))
    size, end = negated(step), plus_constant(start, 1)
    if _is_near(stop, start, given):
        return Extent(start - _reach(stop, start, size), end)
    length = call(prim.maximum_, start, stop) - stop
    reach = call(prim.maximum_, ((length - 1) // size) * size, lift(-1))
    return Extent(start - reach, end)


def _reach(low: Expr, high: Expr, size: Expr) -> Expr:
    """The greatest multiple of ``size`` below the number of integers from ``low`` up to ``high``,
    or less than 0 if there are none."""
    return ((high - low - 1) // size) * size


def _is_near(low: Expr, high: Expr, given: Container[Expr]) -> bool:
    """Whether the difference of two ends cannot wrap. Where both may be any integers, or one may be
    and the other is no small constant, it could, or what is added to it, if there is no integer
    from ``low`` up to ``high``: a loop that has no turns would have many."""
    near = isinstance(low, Literal) or (isinstance(high, Literal) and high.value >= 0)
    if isinstance(low, Literal) and isinstance(high, Literal):
        near = bool(high.value > low.value)
    return near and not _is_any(low, given) and not _is_any(high, given)


def _is_any(end: Expr, given: Container[Expr]) -> bool:
    """Whether an end of a range depends on numbers that may be any."""
    return any(isinstance(node, Access | Name) or node in given for node in end.walk())


def negated(step: Expr) -> Expr:
    """A step in the other direction; of the least int64, which has no negative, the greatest, which
    is beyond the next index, too."""
    if isinstance(step, Literal):
        return lift(min(-int(step.value), GREATEST))
    return lift(0) - call(prim.maximum_, step, Literal(-GREATEST, INTP))


def _wide(expr: Expr) -> Expr:
    return expr if is_weak(expr.dtype) or expr.dtype == INTP else cast(expr, INTP)


__all__ = ["ascending", "is_positive", "negated"]
