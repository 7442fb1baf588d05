"""Tensors of dense levels around sorted lists, made of NumPy's arrays and read into them: no kernel
is compiled for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_core.interface.plugins import when_plugins_change
from finch_core.runtime.compressed import compressed_fields, fields_below_rows
from finch_core.runtime.storage import TensorStorage
from finch_core.runtime.tensor_records import MOST_FORMATS

MOST = 1 << 20
"""So many elements of arrays of one kind become lists, or lists arrays, without a kernel, which is
worth its compilation for more."""


def coordinates_of_lists(tensor: Any) -> tuple[tuple[int, ...], list[Any], Any] | None:
    """``stored_coordinates`` of dense levels around sorted lists, from the buffers: no kernel is
    compiled for it. None for other formats."""
    lists = _lists_of(tensor)
    if lists is None:
        return None
    dense, parts, number = lists
    shape, arrays = tensor.shape, tensor.arrays
    stored = math.prod(shape[:dense])
    coords = [np.arange(stored)][:dense]
    if dense > 1:
        coords = list(np.unravel_index(coords[0], shape[:dense]))
    for pointer, index in parts:
        ends = arrays[pointer][: stored + 1].astype(np.intp, copy=False)
        counts = ends[1:] - ends[:-1]
        coords = [c.repeat(counts) for c in coords]
        stored = int(ends[-1]) if ends.size else 0
        coords.append(arrays[index][:stored].astype(np.intp))
    return shape, coords, arrays[number][:stored].copy()


def array_of_lists(tensor: Any) -> np.ndarray[Any, Any] | None:
    """A dense array of the values of a tensor of lists; None for another, and where a kernel is
    worth its compilation."""
    if _lists_of(tensor) is None or not _are_few(tensor.signature, tensor.shape):
        return None
    shape, coords, values = coordinates_of_lists(tensor)  # type: ignore[misc]
    array = np.full(shape, tensor.fill_value, values.dtype)
    array[tuple(coords)] = values
    return array


def fields_from_array(out: TensorStorage, source: Any) -> list[dict[str, Any]] | None:
    """The fields of each level of ``out``, dense levels around lists, with the elements of a dense
    tensor of its dtype that are not its fill; None for other tensors, where the lists cannot hold
    so many, and where a kernel is worth its compilation."""
    lists = _lists_of(out)
    if lists is None or not is_dense(source) or source.dtype != out.dtype:
        return None
    shape, dense = source.shape, lists[0]
    if not _are_few((out.signature, source.signature), shape):
        return None
    array = source.arrays[0][: math.prod(shape)].reshape(shape)
    array = array.reshape(math.prod(shape[:dense]), *shape[dense:]) if dense else array
    where = (array != out.fill_value).nonzero()
    values = array[where]
    if dense:
        levels = fields_below_rows(len(array), list(where), values)
    else:
        levels = compressed_fields(list(where), values)
    for level, parts in zip(levels, out.layout.fields[dense:-1], strict=False):
        for name, most in (("idx", max(shape)), ("ptr", len(values))):
            dtype = parts[name].field.dtype
            if most > np.iinfo(dtype).max:
                return None
            level[name] = level[name].astype(dtype, copy=False)
    return [{}] * dense + levels


def _are_few(key: Any, shape: tuple[int, ...]) -> bool:
    """Whether the elements of all arrays of this kind so far, and of one of this shape, are few;
    the places of empty fibers count, too."""
    total = _done.get(key, 0) + math.prod(n + 1 for n in shape)
    if total > MOST:
        return False
    if len(_done) >= MOST_FORMATS:
        _done.clear()
    _done[key] = total
    return True


_done: dict[Any, int] = {}


def is_dense(tensor: Any) -> bool:
    """Whether this is a tensor all of whose levels are dense, around values."""
    if not isinstance(tensor, TensorStorage):
        return False
    layouts = [getattr(level, "layout", "") for level in tensor.format.levels()]
    return layouts == ["dense"] * tensor.ndim + ["values"]


Lists = tuple[int, Sequence[tuple[int, int]], int]
"""How many levels are dense, the numbers of the buffers of each list inside of them (where its
fibers end, and indices), and that of the values."""
_lists: dict[Any, Lists | None] = {}
when_plugins_change(_lists.clear)


def _lists_of(tensor: Any) -> Lists | None:
    """The lists of tensors like this one; None for those of other levels, and for others."""
    if not isinstance(tensor, TensorStorage):
        return None
    try:
        return _lists[tensor.signature]
    except KeyError:
        if len(_lists) >= MOST_FORMATS:
            _lists.clear()
        lists = _lists[tensor.signature] = _new_lists(tensor)
        return lists


def _new_lists(tensor: TensorStorage) -> Lists | None:
    *layouts, leaf = [getattr(level, "layout", "") for level in tensor.format.levels()]
    dense = next((k for k, layout in enumerate(layouts) if layout != "dense"), len(layouts))
    inner = tensor.layout.fields[dense:-1]
    if leaf != "values" or not inner or set(layouts[dense:]) != {"compressed"}:
        return None
    parts = [(fields["ptr"].number, fields["idx"].number) for fields in inner]
    return dense, parts, tensor.layout.fields[-1]["val"].number


__all__ = ["array_of_lists", "coordinates_of_lists", "fields_from_array", "is_dense"]
