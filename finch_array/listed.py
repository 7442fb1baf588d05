"""Results of lists, made of coordinates as long as there are few: a kernel is compiled for more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_array.sorted_coordinates import order_of
from finch_array.structures import level_for
from finch_core.interface.level import Format
from finch_core.interface.plugins import when_plugins_change
from finch_core.interface.storage import integer_parameters, narrowest
from finch_core.records import evolve
from finch_core.runtime.compressed import compressed_fields, fields_below_rows
from finch_core.runtime.over_buffers import maker_of_fields
from finch_core.runtime.tensor import Tensor

MOST = 4096


def dense_above_lists(format: Format) -> int | None:
    """How many levels are dense before those that are lists, down to values; None for a format of
    other levels."""
    *layouts, leaf = [level.layout for level in format.levels()]
    dense = next((k for k, layout in enumerate(layouts) if layout != "dense"), len(layouts))
    lists = set(layouts[dense:]) == {"compressed"}
    return dense if lists and leaf == "values" else None


def listed(
    format: Format, shape: Sequence[int], coords: Sequence[Any], values: Any, in_order: bool = False
) -> Tensor:
    """A tensor in a format of lists (see ``dense_above_lists``) from coordinates without
    duplicates, in any order unless they are known to be ``in_order``. Indices and positions have
    64 bits where those of the format cannot hold them."""
    way = _makers.get(format)
    if way is None:
        if len(_makers) >= MOST:
            _makers.clear()
        way = _makers[format] = _way(format)
    make, dense, narrow, least = way
    if max((*shape, len(values))) > least:
        return listed(widened(format), shape, coords, values, in_order)
    if not in_order and len(values):
        order = order_of(shape, coords)
        if order is not None:
            coords, values = [c[order] for c in coords], values[order]
    if dense == 1:
        fields = fields_below_rows(shape[0], list(coords), values)
    elif dense:
        rows = np.ravel_multi_index(tuple(coords[:dense]), tuple(shape[:dense]))
        fields = fields_below_rows(math.prod(shape[:dense]), [rows, *coords[dense:]], values)
    else:
        fields = compressed_fields(list(coords), values)
    for level, (pointer, index) in zip(fields, narrow, strict=False):
        level["ptr"] = level["ptr"].astype(pointer, copy=False)
        level["idx"] = np.ascontiguousarray(level["idx"], index)
    fields[-1]["val"] = np.ascontiguousarray(fields[-1]["val"])
    result: Tensor = make(shape, [{}] * dense + fields)
    return result


_makers: dict[Format, Any] = {}
when_plugins_change(_makers.clear)


def _way(format: Format) -> Any:
    """What makes tensors of a format, how many of its levels are dense, the dtypes of positions and
    indices of the others, and the largest number that these hold."""
    dense = dense_above_lists(format)
    assert dense is not None
    levels: Any = format.levels()[dense:-1]
    narrow = [(level.pointer, level.index) for level in levels]
    least = min([np.iinfo(dtype).max for pair in narrow for dtype in pair])
    return maker_of_fields(format, Tensor), dense, narrow, int(least)


def widened(format: Any) -> Any:
    """``format`` with indices and positions of 64 bits; other levels of the same structures in
    place of those whose indices are narrow whatever their parameters are."""
    if format.child is None:
        return format
    wide = dict.fromkeys(integer_parameters(format), np.int64)
    found: Any = evolve(format, lvl=widened(format.child), **wide)
    if narrowest(found.fields) is not None:  # by no parameter
        return level_for(found.structure, (), found.child)
    return found


__all__ = ["dense_above_lists", "listed", "widened"]
