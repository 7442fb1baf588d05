"""Formats built from the names of levels, and data that they can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from finch_core import records
from finch_core.errors import FormatError
from finch_core.interface.abilities import Order
from finch_core.interface.capacity import Limit, limit_of, only_first, only_first_run, stored
from finch_core.interface.level import Format, check_leaf
from finch_core.interface.plugins import hub
from finch_core.interface.storage import integer_parameters
from finch_core.testing.arrays import Array

Level = Callable[[Format], Format]
"""A level format: a function from the format of subfibers to the format of fibers."""


def level_names() -> tuple[str, ...]:
    """The names of all installed level formats except leaves, sorted."""
    return tuple(sorted(name for name, level in hub().levels.items() if not level.is_leaf))


def leaf(fill: Any = 0.0, dtype: Any = None) -> Format:
    """The installed leaf that stores values, with a fill value and a dtype (default: that of
    ``fill``)."""
    found: Format = hub().layout("values")(fill, dtype)
    return found


def nest(levels: Sequence[Level], below: Format) -> Format:
    """The format with these levels, outermost first, over ``below``; the test is skipped if one of
    them takes leaves alone and is over another level."""
    for level in reversed(levels):
        try:
            below = level(below)
        except FormatError:
            if not below.is_leaf and takes_leaves_alone(level):
                import pytest

                pytest.skip(f"a level takes leaves alone, and not {below.name}")
            raise
    return below


def takes_leaves_alone(level: Level) -> bool:
    """Whether the child of a level must be a leaf: ``check_leaf`` converts it."""
    kind: Any = type(level(leaf()))  # a class of attrs, which ``Format`` itself is not
    return any(field.converter is check_leaf for field in records.fields(kind))


def indexed(format: Format, dtype: Any) -> Format:
    """``format`` with this dtype for all parameters that ``integer_dtype`` converts."""
    level: Any = format  # a class of attrs, which ``Format`` itself is not
    changed: dict[str, Any] = dict.fromkeys(integer_parameters(level), dtype)
    if format.child is not None:
        changed["lvl"] = indexed(format.child, dtype)
    found: Format = records.evolve(level, **changed)
    return found


def admit(format: Format, array: Array, limits: Mapping[str, Limit] | None = None) -> Array:
    """A copy of ``array`` in which elements that ``format`` cannot hold become fill values. Levels
    declare that by ``Format.limit``; ``limits`` overrides it by names of levels."""
    array = array.copy()
    for depth, level in enumerate(format.levels()[:-1]):
        limit = (limits or {}).get(level.name, limit_of(level))
        if limit is not None:
            inside = tuple(range(depth, array.ndim))
            for index in np.argwhere((array != format.fill_value).any(axis=inside)):
                _keep(array[tuple(index)], limit, format.fill_value)
    return array


def _keep(fiber: Array, limit: Limit, fill: Any) -> None:
    fiber[~limit(fiber, fill)] = fill


def takes_any_order(format: Format) -> bool:
    """Whether every level can be written in any order."""
    return all(level.order is Order.ANY for level in format.levels())


__all__ = [
    "Level",
    "Limit",
    "admit",
    "indexed",
    "leaf",
    "level_names",
    "nest",
    "only_first",
    "only_first_run",
    "stored",
    "takes_any_order",
]
