"""How far ``roll`` moves elements, and where to."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_array.axes import axis_of


def shifts(shift: Any, axis: Any, ndim: int) -> list[int]:
    """How far elements move along each of ``ndim`` dimensions."""
    by = [0] * ndim
    if shift.__class__ is int and axis.__class__ is int:
        by[axis_of(axis, ndim)] = shift
        return by
    moves = shift if isinstance(shift, (tuple, list)) else (shift,)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    for a, s in np.broadcast(np.asarray(given), np.asarray(moves)):
        by[axis_of(a, ndim)] += int(s)
    return by


def rolled_places(indices: Any, by: int, size: int) -> Any:
    """Indices of a dimension of this size, moved by a number, of which sums with them may be too
    large for an integer."""
    size = max(size, 1)
    return (indices + by % size) % size


__all__ = ["rolled_places", "shifts"]
