"""Formats and buffers of tensors that are compressed in every dimension, from coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_core.interface.level import Format
from finch_core.interface.plugins import hub


def coordinate_format(ndim: int, fill: Any, dtype: Any = None) -> Format:
    """The format of sorted coordinates: ``ndim`` compressed levels over values of ``dtype``."""
    return format_of((False,) * ndim, fill, dtype)


def compressed_fields(coords: list[Any], values: Any) -> list[dict[str, Any]]:
    """The buffers of each level of a tensor that is compressed in every dimension, from sorted,
    unique coordinates and their values."""
    found: list[dict[str, Any]] = []
    count, last = len(values), len(coords) - 1
    new = np.zeros(count, bool)
    new[:1] = True
    fibers = np.zeros(1, np.intp)  # the position in values at which each fiber begins
    for k, coord in enumerate(coords):
        starts, indices, total = fibers, coord, count
        if k < last:
            new[1:] |= coord[1:] != coord[:-1]
            (fibers,) = new.nonzero()
            total = len(fibers)
            if total < count:
                starts, indices = fibers.searchsorted(starts), coord[fibers]
        ends = np.empty(len(starts) + 1, np.intp)
        ends[:-1], ends[-1] = starts, total
        found.append({"ptr": ends, "idx": np.ascontiguousarray(indices, np.intp)})
    found.append({"val": np.ascontiguousarray(values)})
    return found


def fields_below_rows(rows: int, coords: list[Any], values: Any) -> list[dict[str, Any]]:
    """``compressed_fields`` of so many rows, which are not compressed: those of the levels below
    them. The first of ``coords`` has the row of each value."""
    starts = np.zeros(rows + 1, np.intp)
    if len(coords) == 2:  # as is most of what is made
        np.add.accumulate(np.bincount(coords[0], minlength=rows), out=starts[1:])
        columns = {"ptr": starts, "idx": np.ascontiguousarray(coords[1])}
        return [columns, {"val": values}]
    stored, columns, *rest = compressed_fields(coords, values)
    ends = columns["ptr"]
    starts[stored["idx"] + 1] = ends[1:] - ends[:-1]
    columns["ptr"] = np.add.accumulate(starts)
    return [columns, *rest]


def format_of(dense: Sequence[bool], fill: Any, dtype: Any, index: Any = np.int64) -> Format:
    """The format of levels that are dense, or else compressed, with indices and positions of dtype
    ``index``."""
    format: Format = hub().layout("values")(fill, dtype)
    for level in reversed(dense):
        if level:
            format = hub().layout("dense")(format)
        else:
            format = hub().layout("compressed")(format, index=index, pointer=index)
    return format


__all__ = ["compressed_fields", "coordinate_format", "fields_below_rows", "format_of"]
