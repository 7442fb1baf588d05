"""What an operator's algebra says of an update, whose result is stored in the target's dtype.

``y[()] = min(y[()], x)`` computes in the dtype of both and casts to that of ``y``. Where ``y``
holds uint8 and ``x`` int8, 0 is the least that ``y`` can hold, but no end of the reduction: -1 is
less, and is stored as 255. So a rule on updates asks of the operator what it needs in the dtype in
which the operator computes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.ir.dtypes import concrete, same
from finch_core.ir.expressions import Expr
from finch_core.ir.operators import Operator


def update_dtype(op: Operator, target: np.dtype[Any], value: Expr) -> np.dtype[Any] | None:
    """The dtype in which an update of ``target`` computes, if every value of ``target`` comes back
    as it was where ``op`` leaves it alone; None if not."""
    try:
        (first, *_), result = op.typing((target, value.dtype))
    except TypeError:  # missing has no type
        return None
    wide = concrete(first)
    keeps = same(wide, concrete(result)) and np.can_cast(target, wide, "safe")
    return wide if keeps else None


def is_closed(op: Operator, target: np.dtype[Any], value: Expr) -> bool:
    """Whether an update computes in the target's own dtype: it stores what ``op`` gives."""
    wide = update_dtype(op, target, value)
    return wide is not None and same(wide, target)


def wraps_alike(op: Operator, target: np.dtype[Any], value: Expr) -> bool:
    """Whether an update that computes in wider integers stores what it would with the value cast
    to the target's dtype first."""
    if not op.modular or target.kind not in "iu":
        return False
    wide = update_dtype(op, target, value)
    return wide is not None and wide.kind in "iu" and not same(wide, target)


__all__ = ["is_closed", "update_dtype", "wraps_alike"]
