"""Formats by the name of their levels, and data that they can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from finch_core.level import Format, Order
from finch_core.plugins import hub
from finch_core.testing.arrays import Array

Level = Callable[[Format], Format]
"""A level format: makes the format of a fiber from that of its subfibers."""

Limit = Callable[[Array, Any], Array]
"""What a level can hold of a fiber: given the fiber (an array whose first dimension is the level's)
and the fill value, it tells for each index whether its subfiber is kept."""


def level_names() -> tuple[str, ...]:
    """The names of all registered level formats that are no leaves, in order."""
    return tuple(sorted(name for name, level in hub().levels.items() if not level.is_leaf))


def leaf(fill: Any = 0.0, dtype: Any = None) -> Format:
    """The registered leaf that stores values."""
    found: Format = hub().layout("values")(fill, dtype)
    return found


def nest(levels: Sequence[Level], below: Format) -> Format:
    """Levels, outermost first, over a leaf."""
    for level in reversed(levels):
        below = level(below)
    return below


def stored(fiber: Array, fill: Any) -> Array:
    """For each index of a fiber whether something in it is not fill."""
    return (fiber != fill).reshape(len(fiber), int(np.prod(fiber.shape[1:]))).any(axis=1)  # type: ignore[no-any-return]


def only_first(fiber: Array, fill: Any) -> Array:
    """The limit of a level that holds one subfiber."""
    there = stored(fiber, fill)
    return there & (np.cumsum(there) == 1)  # type: ignore[no-any-return]


def only_first_run(fiber: Array, fill: Any) -> Array:
    """The limit of a level that holds one run of equal values (of one index, where it holds
    subfibers: those are not compared as they are written)."""
    if fiber.ndim > 1:
        return only_first(fiber, fill)
    there = stored(fiber, fill)
    kept = np.zeros(len(fiber), bool)
    if there.any():
        start = stop = int(np.argmax(there))
        while stop < len(fiber) and np.array_equal(fiber[stop], fiber[start]):
            stop += 1
        kept[start:stop] = True
    return kept


def admit(format: Format, array: Array, limits: Mapping[str, Limit]) -> Array:
    """``array`` with fill in place of what ``format`` cannot hold: ``limits`` has a ``Limit`` for
    the names of those levels that need one."""
    array = array.copy()
    for depth, level in enumerate(format.levels()[:-1]):
        limit = limits.get(level.name)
        if limit is not None:
            for index in np.ndindex(array.shape[:depth]):
                _keep(array[index], limit, format.fill_value)
    return array


def _keep(fiber: Array, limit: Limit, fill: Any) -> None:
    fiber[~limit(fiber, fill)] = fill


def takes_any_order(format: Format) -> bool:
    """Whether every level takes updates in any order."""
    return all(level.order is Order.ANY for level in format.levels())


__all__ = [
    "Level",
    "Limit",
    "admit",
    "leaf",
    "level_names",
    "nest",
    "only_first",
    "only_first_run",
    "stored",
    "takes_any_order",
]
