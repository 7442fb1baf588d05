"""Value ranges of integer expressions, from dtypes and operators alone.

A ``uint8`` is at most 255, divided by 16 at most 15: a gather or scatter at such an index needs
no test for negative values, and none in a loop over a dimension of 16 or more.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Call, Cast, Expr, Literal
from finch_core.ir.operators import literal_value

Range = tuple[int, int]
"""The least and the greatest value, both inclusive."""


def range_of(expr: Expr, meanings: Mapping[Expr, Expr]) -> Range | None:
    """Bounds on ``expr``, if its dtype is narrower than an index or an operator limits it.

    ``meanings`` are the definitions of variables. None if there are no bounds.
    """
    expr = meanings.get(expr, expr)
    if isinstance(expr, Literal):
        return (int(expr.value), int(expr.value)) if concrete(expr.dtype).kind in "iu" else None
    within = _of_dtype(expr)
    if isinstance(expr, Cast):
        found = range_of(expr.value, meanings) if concrete(expr.value.dtype).kind in "iub" else None
    else:
        found = _of_call(expr, meanings) if isinstance(expr, Call) else None
    if found is None or (within is not None and not within[0] <= found[0] <= found[1] <= within[1]):
        return within if within is not None and within[1] < _WIDEST else None  # it may wrap around
    return found


_WIDEST = int(np.iinfo(np.int64).max)


def _of_dtype(expr: Expr) -> Range | None:
    return _limits(concrete(expr.dtype))


@cache
def _limits(dtype: np.dtype[Any]) -> Range | None:
    if dtype.kind == "b":
        return 0, 1
    return (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) if dtype.kind in "iu" else None


def _of_call(expr: Call, meanings: Mapping[Expr, Expr]) -> Range | None:
    """Bounds on an operator with a constant right operand and a non-negative left one."""
    if len(expr.args) != 2 or not isinstance(expr.args[1], Literal):
        return None
    if concrete(expr.dtype).kind not in "iu":
        return None
    wanted = expr.op.typing(tuple(arg.dtype for arg in expr.args))[0][1]
    by = int(literal_value(expr.args[1].value, wanted))  # 300 among uint8 is 44
    first = range_of(expr.args[0], meanings)
    if by < 0 or (first is not None and first[0] < 0):
        return None
    if expr.op is prim.bitand and concrete(expr.args[0].dtype).kind in "iu":
        return 0, by
    if expr.op is prim.mod and by > 0 and first is not None:
        return 0, min(by - 1, first[1])
    if first is None or by == 0:
        return first
    if expr.op is prim.floordiv:
        return first[0] // by, first[1] // by
    return (first[0] >> by, first[1] >> by) if expr.op is prim.rshift and by < 64 else None
