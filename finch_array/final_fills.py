"""The fill of a result: that of its values, reduced as often as there are elements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from finch_array.requests import Request
from finch_core.errors import FormatError
from finch_core.ir.expressions import Expr, Literal, alike
from finch_core.ir.operators import cast_value
from finch_core.records import frozen


def start_of(request: Request, dtype: Any) -> Any:
    """The value that a reduction begins with: the identity of its operator. Raises ``FormatError``
    if the operator has identities, and none in this dtype."""
    if request.op is None or request.op.identity is None:
        return None
    start = request.op.identity(dtype)
    if start is None:
        raise FormatError(
            f"{request.op.name!r} has no identity in {dtype} to begin a reduction with",
            hint="cast the operands to a dtype in which it has one, such as a float, or give the "
            "operator, if it is your own, a function from a dtype to its identity",
        )
    return start


def final_fill(
    request: Request, fill: Expr, sizes: Mapping[str, int], dtype: np.dtype[Any], own: Sequence[str]
) -> Any:
    """The fill of the result: that of the value, reduced as often as there are elements."""
    count = math.prod(n for name, n in sizes.items() if name not in own)
    return fill_of_several(request, fill, count, dtype)


def fill_of_several(request: Request, fill: Expr, count: int, dtype: np.dtype[Any]) -> Any:
    """The fill of a result whose elements are each of ``count`` values, which have this fill; 0
    where that is not known, since all elements are then stored."""
    if not isinstance(fill, Literal):
        return cast_value(0, dtype)
    value = cast_value(fill.value, dtype)
    return value if request.op is None else repeated(request, value, count, dtype)


def repeated(request: Request, value: Any, count: int, dtype: np.dtype[Any]) -> Any:
    """``value`` reduced ``count`` times by the operator of the request."""
    op, start = request.op, start_of(request, dtype)
    assert op is not None
    if count == 0 or alike(value, start):
        return start
    if op.idempotent:
        return value
    with np.errstate(all="ignore"):
        if op.repeated is not None:
            if dtype.kind in "iu":  # of 64 bits, which wrap to those of fewer
                wide = np.dtype(f"{dtype.kind}8")
                found = op.repeated.evaluate(cast_value(value, wide), cast_value(count, wide))
                return cast_value(found, dtype)
            number = np.dtype(np.int64 if dtype.kind == "m" else dtype).type(count)
            return cast_value(op.repeated.evaluate(value, number), dtype)
    return start


@frozen(eq=False)
class Refill:
    """The fill of a reduction, which may depend on the number of elements that are reduced."""

    request: Request
    fill: Expr
    dtype: np.dtype[Any]
    own: tuple[str, ...]

    def __call__(self, sizes: Mapping[str, int]) -> Any:
        return final_fill(self.request, self.fill, sizes, self.dtype, self.own)


__all__ = ["Refill", "fill_of_several", "final_fill", "repeated", "start_of"]
