"""Joins of arrays of single elements: by their coordinates where there are few, else by kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_array.joining import (
    LARGE,
    Segment,
    axes_of_join,
    format_of_join,
    is_deep,
    joined,
    tiled,
)
from finch_array.listed import dense_above_lists, listed
from finch_array.operands import MOST, entries, kinds_of, levels_of, stored
from finch_array.run import as_seen, coordinates
from finch_core.interface.level import Format
from finch_core.interface.plugins import when_plugins_change
from finch_core.runtime.tensor import checked_shape
from finch_core.runtime.worth import are_few, are_many


def joined_points(
    arrays: Sequence[Any], place: int, dtype: np.dtype[Any], fill: Any, new: bool = False,
    called: Any = None,
) -> Any:  # fmt: skip
    """Arrays of single elements, all with this fill, one after another along dimension ``place``,
    or each at an index of a ``new`` one. ``called`` is the key of a call with these arrays."""
    key = (place, new, dtype, fill.tobytes(), *[x.signature for x in arrays])
    format, dense, axes, alike = _joined_format(key, arrays, place, dtype, fill, new)
    if dense is not None and _are_few(key, arrays):
        return _joined_by_coordinates(arrays, place, dtype, format, axes, new, alike)
    if new:
        return joined([Segment(x, 0, 1) for x in arrays], place, dtype, fill, new, called)
    if len(arrays) == 1:
        arrays = [*arrays, arrays[0][(slice(None),) * place + (slice(0, 0),)]]
        called = None
    return joined([Segment.whole(x, place) for x in arrays], place, dtype, fill, key=called)


_Joined = tuple[Format, int | None, tuple[int, ...], bool]


def _joined_format(
    key: Any, arrays: Sequence[Any], place: int, dtype: np.dtype[Any], fill: Any, new: bool = False
) -> _Joined:
    """The format of arrays of single elements joined, how many levels are dense before lists, the
    order of its dimensions, and whether the coordinates of all arrays in turn are in order."""
    known = _point_formats.get(key)
    if known is None:
        if len(_point_formats) >= MOST:
            _point_formats.clear()
        axes = axes_of_join(arrays[0], place, new)
        format = format_of_join(arrays, axes, place, dtype, fill, new)[0]
        alike = place == axes[0] and all(axes_of_join(x, place, new) == axes for x in arrays)
        known = _point_formats[key] = format, dense_above_lists(format), axes, alike
    return known


_point_formats: dict[Any, _Joined] = {}
when_plugins_change(_point_formats.clear)


def _are_few(key: Any, arrays: Sequence[Any], times: int = 1) -> bool:
    """Whether arrays of single elements, so many times each, are joined by their coordinates: they
    are empty, few, or kernels for them would take long to compile."""
    size = sum([math.prod(x.shape) for x in arrays]) * times
    if not size:
        return True
    if are_many(key):
        return False
    deep = any(is_deep(levels_of(stored(x).source) or ()) for x in arrays)
    return (deep and size <= LARGE) or are_few(key, sum(map(entries, arrays)) * times)


def _joined_by_coordinates(
    arrays: Sequence[Any], place: int, dtype: np.dtype[Any], format: Format,
    axes: tuple[int, ...], new: bool, in_order: bool,
) -> Any:  # fmt: skip
    parts, values, start = [], [], 0
    for array in arrays:
        shape, coords, found = coordinates(array)
        if new:
            coords.insert(place, np.empty(len(found), np.intp))
            coords[place].fill(start)
        elif start:
            coords[place] += start
        parts.append([coords[axis] for axis in axes])
        values.append(found if found.dtype == dtype else found.astype(dtype))
        start += 1 if new else shape[place]
    coords = [np.concatenate(column) for column in zip(*parts, strict=True)]
    whole = list(arrays[0].shape)
    whole[place : place + (not new)] = [start]
    result = listed(
        format, [whole[axis] for axis in axes], coords, np.concatenate(values), in_order
    )
    return as_seen(result, axes)


def tiled_points(array: Any, times: Sequence[int]) -> Any:
    """An array of single elements repeated along each dimension, once at least, and along one more
    often."""
    key = ("tile", array.signature)
    place = next(axis for axis, n in enumerate(times) if n != 1)
    whole = _joined_format((key, place), [array, array], place, array.dtype, array.fill_value)
    format, dense, axes, _ = whole
    if dense is None or _has_single(array) or not _are_few(key, [array], math.prod(times)):
        return tiled(array, times)
    full = checked_shape([m * n for m, n in zip(array.shape, times, strict=True)], array.ndim)
    coords, values = tiled_coordinates(array, times)
    result = listed(format, [full[axis] for axis in axes], [coords[axis] for axis in axes], values)
    return as_seen(result, axes)


def _has_single(array: Any) -> bool:
    """Whether a fiber of some dimension has one piece at most: it may keep this in a join."""
    return any(kind.single for kind in kinds_of(array))


def tiled_coordinates(array: Any, times: Sequence[int]) -> tuple[list[Any], Any]:
    """The coordinates and values of an array repeated along each dimension, in no order."""
    shape, coords, values = coordinates(array)
    for axis, n in enumerate(times):
        if n != 1:
            copy = np.arange(n).repeat(len(values))
            coords = [np.concatenate([c] * n) for c in coords]
            coords[axis] += copy * shape[axis]
            values = np.concatenate([values] * n)
    return coords, values


__all__ = ["joined_points", "tiled_coordinates", "tiled_points"]
