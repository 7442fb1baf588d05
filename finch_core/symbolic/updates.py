"""The algebra of updates, whose results are stored in the target's dtype.

``y[()] = min(y[()], x)`` is computed in the common dtype of both and cast to that of ``y``. If
``y`` holds uint8 and ``x`` int8, 0 is the least value of ``y``, but not a fixed point: -1 is
less, and is stored as 255. A rule on updates therefore uses the operator's algebra in the dtype
in which the operator is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete, same
from finch_core.ir.expressions import Expr
from finch_core.ir.operators import Operator


def update_dtype(op: Operator, target: np.dtype[Any], value: Expr) -> np.dtype[Any] | None:
    """The dtype in which an update of ``target`` is computed.

    None if that dtype does not represent every value of ``target`` exactly.
    """
    try:
        (first, *_), result = op.typing((target, value.dtype))
    except TypeError:  # missing has no type
        return None
    wide = concrete(first)
    keeps = same(wide, concrete(result)) and np.can_cast(target, wide, "safe")
    return wide if keeps else None


def is_closed(op: Operator, target: np.dtype[Any], value: Expr) -> bool:
    """Whether an update is computed in the target's own dtype, so that it stores what ``op``
    gives."""
    wide = update_dtype(op, target, value)
    return wide is not None and same(wide, target)


def wraps_alike(op: Operator, target: np.dtype[Any], value: Expr) -> bool:
    """Whether an update computed in wider integers stores the same if the value is first cast to
    the target's dtype."""
    if not op.modular or target.kind not in "iu":
        return False
    wide = update_dtype(op, target, value)
    return wide is not None and wide.kind in "iu" and not same(wide, target)


def stays_associative(op: Operator, target: np.dtype[Any], value: Expr) -> bool:
    """Whether an associative operator is so where each result is stored as ``target``. The maximum
    of int8 and int64 is not: 300 is stored as 44."""
    if wraps_alike(op, target, value):
        return True
    wide = update_dtype(op, target, value)
    rounds = wide is not None and wide.kind == target.kind and target.kind in "fc"
    return rounds or (wide is not None and same(wide, target))


def neutral(merge: Operator, dtype: np.dtype[Any]) -> Any:
    """A value that changes no other: -0.0 in sums of floats, where 0.0 would change -0.0. None if
    there is none, as for the maximum of complex numbers."""
    found = None if merge.identity is None else merge.identity(dtype)
    if found is None:
        return None
    return -found if merge is prim.add and dtype.kind in "fc" else found


__all__ = ["is_closed", "neutral", "stays_associative", "update_dtype", "wraps_alike"]
