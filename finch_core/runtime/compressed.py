"""Tensors that are compressed in every dimension, made of coordinates without a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_core.interface.level import Format
from finch_core.interface.plugins import hub, when_plugins_change
from finch_core.runtime.tensor import Tensor, checked_shape
from finch_core.runtime.tensor_records import MOST_FORMATS


def coordinate_format(ndim: int, fill: Any, dtype: Any = None) -> Format:
    """The format of sorted coordinates: ``ndim`` compressed levels over values of ``dtype``."""
    return format_of((False,) * ndim, fill, dtype)


def from_sorted(shape: tuple[int, ...], coords: list[Any], values: Any, fill: Any) -> Tensor:
    """A tensor compressed in every dimension, from sorted, unique coordinates and their values."""
    return compressed_tensor(shape, compressed_fields(coords, values), fill)


def compressed_fields(coords: list[Any], values: Any) -> list[dict[str, Any]]:
    """The buffers of each level of a tensor that is compressed in every dimension, from sorted,
    unique coordinates and their values."""
    found: list[dict[str, Any]] = []
    new = np.zeros(len(values), bool)
    new[:1] = True
    fibers = np.zeros(1, np.intp)  # the position in values at which each fiber begins
    for k, coord in enumerate(coords):
        new[1:] |= coord[1:] != coord[:-1]
        if new.all():
            starts = fibers, len(values)
            indices = coord
        else:
            fibers, outer = np.flatnonzero(new), fibers
            starts = np.searchsorted(fibers, outer), len(fibers)
            indices = coord[fibers]
        ends = np.append(*starts).astype(np.intp, copy=False)
        found.append({"ptr": ends, "idx": np.ascontiguousarray(indices, np.intp)})
        if len(fibers) != len(indices) and k + 1 < len(coords):
            fibers = np.arange(len(values))
    found.append({"val": np.ascontiguousarray(values)})
    return found


def compressed_tensor(shape: Sequence[int], fields: list[dict[str, Any]], fill: Any) -> Tensor:
    """A tensor over the buffers of ``compressed_fields``. A level that has none is dense."""
    dtype = fields[-1]["val"].dtype
    dense = tuple([not field for field in fields[:-1]])
    key = (dense, dtype, np.asarray(fill).tobytes(), type(fill))
    make = _makers.get(key)
    if make is None:
        if len(_makers) >= MOST_FORMATS:
            _makers.clear()
        make = _makers[key] = Tensor.maker(format_of(dense, fill, dtype))
    tensor: Tensor = make()
    tensor.set_fields(checked_shape(shape, len(dense)), fields)
    tensor.note_readonly()
    return tensor


def format_of(dense: Sequence[bool], fill: Any, dtype: Any) -> Format:
    """The format of levels that are dense, or else compressed."""
    format: Format = hub().layout("values")(fill, dtype)
    for level in reversed(dense):
        format = hub().layout("dense" if level else "compressed")(format)
    return format


_makers: dict[Any, Any] = {}
when_plugins_change(_makers.clear)


__all__ = [
    "compressed_fields", "compressed_tensor", "coordinate_format", "format_of", "from_sorted",
]  # fmt: skip
