"""Axes and shapes as arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.errors import DimensionMismatch, OutOfBounds
from finch_core.runtime.wrapping import whole


class AxisOutOfBounds(OutOfBounds, np.exceptions.AxisError):
    """An axis that an array of ``ndim`` dimensions lacks: ``OutOfBounds``, and NumPy's
    ``AxisError``, an ``IndexError`` and a ``ValueError``."""

    def __init__(self, axis: int, ndim: int) -> None:
        super().__init__(f"axis {axis} is out of bounds for an array of {ndim} dimensions")
        self.axis, self.ndim = axis, ndim

    def __reduce__(self) -> Any:
        return type(self), (self.axis, self.ndim)


def axis_of(axis: Any, ndim: int) -> int:
    """``axis`` as an int from 0. Raises ``AxisOutOfBounds`` for one that there is not, and
    ``FormatError``, a ``TypeError``, for what is no integer."""
    found = axis if axis.__class__ is int else whole(axis, "an axis")
    if not -ndim <= found < ndim:
        raise AxisOutOfBounds(found, ndim)
    return found % ndim


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """One or several axes, or None for all, as sorted ints from 0. Raises ``OutOfBounds``, and
    ``DimensionMismatch`` for one that is named twice."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = [axis_of(a, ndim) for a in given]
    if len(set(found)) != len(found):
        raise DimensionMismatch(f"the axes {axis} are not distinct")
    return tuple(sorted(found))


def shape_of(shape: Any) -> tuple[int, ...]:
    """A shape, or one size, as a tuple of ints. Raises ``FormatError``, a ``TypeError``, for a size
    that is no integer."""
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple([n if n.__class__ is int else whole(n, "a size") for n in given])


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which these broadcast. Raises ``DimensionMismatch`` if they do not."""
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for k, n in enumerate(shape, ndim - len(shape)):
            if result[k] == 1:
                result[k] = n
            elif n not in (1, result[k]):
                raise DimensionMismatch(
                    f"the shapes {', '.join(map(str, shapes))} do not broadcast"
                )
    return tuple(result)
