"""Capacity limits of levels that cannot store every fiber."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

Limit = Callable[[Array, Any], Array]
"""The limit of a level: ``limit(fiber, fill)`` takes a fiber (an array whose first dimension is
the level's) and the fill value, and gives for each index whether the level can keep its
subfiber."""


def stored(fiber: Array, fill: Any) -> Array:
    """For each index of ``fiber``, whether its subfiber has an element that is not ``fill``."""
    return (fiber != fill).reshape(len(fiber), int(np.prod(fiber.shape[1:]))).any(axis=1)  # type: ignore[no-any-return]


def limit_of(level: Any) -> Limit | None:
    """The limit of a level, as the class attribute, or as a method or property of it."""
    own = type(level).limit
    plain = isinstance(own, FunctionType) and own.__code__.co_argcount == 2  # of no level
    found: Limit | None = own if plain else level.limit
    return found


def only_first(fiber: Array, fill: Any) -> Array:
    """The limit of a level that stores one subfiber."""
    there = stored(fiber, fill)
    return there & (np.cumsum(there) == 1)  # type: ignore[no-any-return]


def only_first_run(fiber: Array, fill: Any) -> Array:
    """The limit of a level that stores one run of equal subfibers."""
    there = stored(fiber, fill)
    kept = np.zeros(len(fiber), bool)
    if there.any():
        start = stop = int(np.argmax(there))
        while stop < len(fiber) and np.array_equal(fiber[stop], fiber[start]):
            stop += 1
        kept[start:stop] = True
    return kept


__all__ = ["Limit", "limit_of", "only_first", "only_first_run", "stored"]
