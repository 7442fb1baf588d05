"""Formats by the name of their levels, and data that they can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from finch_core.interface.abilities import Order
from finch_core.interface.capacity import Limit, only_first, only_first_run, stored
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.testing.arrays import Array

Level = Callable[[Format], Format]
"""A level format: makes the format of a fiber from that of its subfibers."""


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


def admit(format: Format, array: Array, limits: Mapping[str, Limit] | None = None) -> Array:
    """``array`` with fill in place of what ``format`` cannot hold, as its levels' ``limit`` has it;
    ``limits`` may say otherwise, by the names of levels."""
    array = array.copy()
    for depth, level in enumerate(format.levels()[:-1]):
        limit = (limits or {}).get(level.name, type(level).limit)
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
