"""Products in a reduction: their operators, factors, zeros and identities."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from finch_array.plan.normal import distributes
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Call, Cast, Expr
from finch_core.ir.operators import Operator, operators


def product_of(op: Operator | None, body: Expr) -> tuple[Operator | None, tuple[Expr, ...]]:
    """The operator of the product that is reduced by ``op``, and its factors."""
    if op is None or not isinstance(body, (Call, Cast)):
        return None, (body,)
    while isinstance(body, Cast) and concrete(body.value.dtype) == body.type:
        body = body.value
    if not isinstance(body, Call):
        return None, (body,)
    times = body.op
    if not (distributes(times, op) and times.commutative and times.associative):
        return None, (body,)
    return times, tuple(_factors(body, times, concrete(body.dtype)))


def _factors(expr: Expr, times: Operator, dtype: Any) -> list[Expr]:
    if isinstance(expr, Call) and expr.op is times and concrete(expr.dtype) == dtype:
        return [f for arg in expr.args for f in _factors(arg, times, dtype)]
    return [expr]


def times_for(op: Operator, dtype: Any) -> Operator | None:
    """A commutative operator that distributes over ``op`` and has an identity."""
    for times in operators():
        if distributes(times, op) and times.commutative and times.identity is not None:
            return times
    return None


def annihilates(times: Operator | None, fill: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a product is its zero wherever a factor is ``fill``."""
    if times is None or fill is None:
        return False
    value = annihilator(times, dtype)
    return value is not None and bool(value == fill)


@functools.cache
def annihilator(op: Operator, dtype: np.dtype[Any]) -> Any:
    """The value that makes a product that value; None if there is none."""
    return op.annihilator(dtype) if op.annihilator is not None else None


@functools.cache
def identity(op: Operator, dtype: np.dtype[Any]) -> Any:
    """The value that a reduction begins with; None if there is none."""
    return op.identity(dtype) if op.identity is not None else None


__all__ = ["annihilates", "identity", "product_of", "times_for"]
