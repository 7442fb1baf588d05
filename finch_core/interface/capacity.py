"""What levels hold that cannot hold every fiber."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

Limit = Callable[[Array, Any], Array]
"""What a level can hold of a fiber: given the fiber (an array whose first dimension is the level's)
and the fill value, it tells for each index whether its subfiber is kept."""


def stored(fiber: Array, fill: Any) -> Array:
    """For each index of a fiber whether something in it is not fill."""
    return (fiber != fill).reshape(len(fiber), int(np.prod(fiber.shape[1:]))).any(axis=1)  # type: ignore[no-any-return]


def only_first(fiber: Array, fill: Any) -> Array:
    """The limit of a level that holds one subfiber."""
    there = stored(fiber, fill)
    return there & (np.cumsum(there) == 1)  # type: ignore[no-any-return]


def only_first_run(fiber: Array, fill: Any) -> Array:
    """The limit of a level that holds one run of equal subfibers."""
    there = stored(fiber, fill)
    kept = np.zeros(len(fiber), bool)
    if there.any():
        start = stop = int(np.argmax(there))
        while stop < len(fiber) and np.array_equal(fiber[stop], fiber[start]):
            stop += 1
        kept[start:stop] = True
    return kept


__all__ = ["Limit", "only_first", "only_first_run", "stored"]
