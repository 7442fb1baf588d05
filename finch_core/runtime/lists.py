"""Tensors of few elements, made of NumPy's arrays and read into them, and the coordinates of lists:
no kernel is compiled for it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from finch_core.interface.level import Format
from finch_core.interface.plugins import when_plugins_change
from finch_core.interface.rows import are_fills, without_fills
from finch_core.runtime.compressed import compressed_fields, fields_below_rows
from finch_core.runtime.storage import TensorStorage
from finch_core.runtime.tensor_records import MOST_FORMATS

MOST = 1 << 22
"""So many elements of arrays of one kind become lists, or lists arrays, without a kernel, which is
worth its compilation for more."""
FEWER = 16
"""The indices of chosen elements are found by bisection where so many times as many are stored."""
OTHERS = 4
"""So many times as many of other levels, runs among them, whose kernels take longer to compile."""


def coordinates_of_lists(
    tensor: Any, shared: bool = False
) -> tuple[tuple[int, ...], list[Any], Any] | None:
    """``stored_coordinates`` of dense levels around sorted lists or coordinates, from the buffers:
    no kernel is compiled for it. ``shared``: the last indices, of the dtype of their buffer, and
    the values are the tensor's own memory. None for other formats."""
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
        if pointer is not None:
            ends = arrays[pointer][: stored + 1]
            stored = int(ends[-1]) if ends.size else 0
            if coords:
                counts = (ends[1:] - ends[:-1]).astype(_INTP, copy=False)
                coords = [c.repeat(counts) for c in coords]
        indices = arrays[index][:stored]
        coords.append(indices if shared and index == parts[-1][1] else indices.astype(_INTP))
    values = arrays[number][:stored]
    return shape, coords, values if shared else values.copy()


def chosen_of_lists(tensor: Any, chosen: Callable[[Any], Any]) -> tuple[list[Any], Any] | None:
    """The indices and the values of stored elements of the formats that ``coordinates_of_lists``
    reads, those for which ``chosen`` of all values, which are only read, holds. None for other
    formats."""
    lists = _lists_of(tensor)
    if lists is None:
        return None
    dense, parts, number = lists
    shape, arrays, levels = tensor.shape[:dense], tensor.arrays, []
    stored = math.prod(shape)
    for pointer, index in parts:
        ends = None
        if pointer is not None:
            ends = arrays[pointer][: stored + 1].astype(np.intp, copy=False)
            stored = int(ends[-1]) if ends.size else 0
        levels.append((ends, arrays[index]))
    values = arrays[number][:stored]
    (places,) = chosen(values).nonzero()
    found, coords = values[places], []
    if len(places) * FEWER > stored:
        whole = coordinates_of_lists(tensor, shared=True)
        assert whole is not None
        return [c[places] for c in whole[1]], found
    for ends, indices in reversed(levels):
        coords.append(indices[places].astype(np.intp))
        if ends is not None:
            places = ends.searchsorted(places, "right") - 1
    outer = np.unravel_index(places, shape) if dense > 1 else [places][:dense]
    return [*outer, *reversed(coords)], found


def stored_positions(tensor: TensorStorage) -> int:
    """How many values a tensor stores at its leaf, those that only pad a level, too."""
    found = positions_of_lists(tensor)
    if found is None:
        *_, (_, found, _, _) = tensor.levels()
    return found


def positions_of_lists(tensor: TensorStorage) -> int | None:
    """How many values a tensor of dense levels around sorted lists or coordinates stores; None for
    other formats."""
    lists = _lists_of(tensor)
    if lists is None:
        return None
    dense, parts, _ = lists
    count, arrays = math.prod(tensor.shape[:dense]), tensor.arrays
    for pointer, _ in parts:
        if pointer is not None:
            ends = arrays[pointer]
            count = int(ends[count]) if ends.size else 0
    return count


def arrays_in_use(tensor: TensorStorage) -> list[np.ndarray[Any, Any]]:
    """``tensor.arrays_in_use()``, of dense levels around lists without a walk of the levels."""
    lists = _lists_of(tensor)
    if lists is None:
        return tensor.arrays_in_use()
    dense, parts, number = lists
    if len(tensor.arrays) != 1 + sum([1 if pointer is None else 2 for pointer, _ in parts]):
        return tensor.arrays_in_use()  # there are others
    count, found = math.prod(tensor.shape[:dense]), list(tensor.arrays)
    for pointer, index in parts:
        if pointer is not None:
            ends = found[pointer]
            found[pointer] = ends[: count + 1]
            count = int(ends[count]) if ends.size else 0
        found[index] = found[index][:count]
    found[number] = found[number][:count]
    return found


def listed_element(tensor: Any, index: Sequence[int]) -> Any:
    """The element of a tensor of dense levels around sorted lists or coordinates, found in the
    buffers; None for other formats."""
    lists = _lists_of(tensor)
    if lists is None:
        return None
    dense, parts, number = lists
    arrays = tensor.arrays
    start = _row(tensor.shape, index[:dense])
    stop = start + 1
    for (pointer, indices), i in zip(parts, index[dense:], strict=True):
        if pointer is not None:  # of the one fiber that is left; a blank tensor has none
            ends = arrays[pointer]
            start, stop = (int(ends[start]), int(ends[start + 1])) if ends.size else (0, 0)
        start = bisect_left(arrays[indices], i, start, stop)
        stop = bisect_right(arrays[indices], i, start, stop)
        if start == stop:
            return np.asarray(tensor.fill_value, tensor.dtype)[()]
    return arrays[number][start]


def _row(shape: Sequence[int], index: Sequence[int]) -> int:
    """The number of a row in row-major order: ``np.ravel_multi_index`` of a few integers."""
    place = 0
    for i, n in zip(index, shape, strict=False):
        place = place * n + i
    return place


def with_part_of_row(
    tensor: Any, row: Sequence[int], part: range, indices: Any, values: Any
) -> list[Any] | None:
    """The buffers of a tensor of dense levels around one of sorted lists, with other entries in
    ``part``, a range of indices of step 1, of the row at the indices ``row``: ``values`` at sorted
    ``indices``. None for other formats, and for more entries than its positions can number."""
    lists = _lists_of(tensor)
    if lists is None:
        return None
    dense, parts, number = lists
    (pointer, index), *deeper = parts
    if deeper or pointer is None or dense != len(row):
        return None
    place, rows = _row(tensor.shape, row), math.prod(tensor.shape[:dense])
    arrays = list(tensor.arrays)
    ends, inside, there = arrays[pointer][: rows + 1], arrays[index], arrays[number]
    if len(ends) <= rows:
        return None
    begin, end, stored = int(ends[place]), int(ends[place + 1]), int(ends[-1])
    first, last = (begin + inside[begin:end].searchsorted((part.start, part.stop))).tolist()
    more = len(values) - (last - first)
    if stored + more > np.iinfo(ends.dtype).max:
        return None
    arrays[number] = np.concatenate((there[:first], values, there[last:stored]))
    if more or (inside[first:last] != indices).any():
        new = np.asarray(indices, inside.dtype)
        arrays[index] = np.concatenate((inside[:first], new, inside[last:stored]))
    if more:
        arrays[pointer] = ends = ends.copy()
        ends[place + 1 :] += more
    return arrays


def array_of_lists(tensor: Any) -> np.ndarray[Any, Any] | None:
    """A dense array of the values of a tensor; None where a level of it does not make rows, and
    where a kernel is worth its compilation."""
    if not _are_few(tensor, tensor.signature, tensor.shape):
        return None
    found = coordinates_of_lists(tensor, shared=True)
    if found is None:
        return _array_of_rows(tensor)
    shape, coords, values = found
    array = np.empty(shape, values.dtype)
    array.fill(tensor.fill_value)
    array[tuple(coords)] = values
    return array


def fields_from_array(out: TensorStorage, source: Any) -> list[dict[str, Any]] | None:
    """The fields of each level of ``out`` with the elements of a dense tensor of its dtype that are
    not its fill; None where a level does not make them, where its indices cannot hold so many, and
    where a kernel is worth its compilation."""
    if not is_dense(source) or source.dtype != out.dtype or is_dense(out):
        return None
    shape = source.shape
    if not _are_few(out, (out.signature, source.signature), shape):
        return None
    array = source.arrays[0][: math.prod(shape)].reshape(shape)
    lists = _lists_of(out)
    if lists is None or any(pointer is None for pointer, _ in lists[1]):
        return _fields_from_rows(out, array)
    dense = lists[0]
    array = array.reshape(math.prod(shape[:dense]), *shape[dense:]) if dense else array
    where = (~are_fills(array, out.fill_value)).nonzero()
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


def _array_of_rows(tensor: Any) -> np.ndarray[Any, Any] | None:
    """``array_of_lists`` of tensors whose levels have ``to_rows``."""
    rows: np.ndarray[Any, Any] | None = None
    if tensor.dtype.kind not in "biufc" or not all(map(_makes_rows, tensor.layout.levels)):
        return None
    levels = list(tensor.levels())
    for k, (level, positions, _, _) in reversed(list(enumerate(levels))):
        n = 0 if level.is_leaf else tensor.shape[k]
        rows = level.to_rows(positions, n, tensor.fields(k), rows, tensor.fill_value)
        if rows is None:
            return None
    return None if rows is None else rows.reshape(tensor.shape).copy()


def _makes_rows(level: Format) -> bool:
    return type(level).to_rows is not Format.to_rows


def _fields_from_rows(out: TensorStorage, array: Any) -> list[dict[str, Any]] | None:
    """``fields_from_array`` of tensors whose levels have ``from_rows``."""
    if array.dtype.kind not in "biufc" or math.prod(array.shape) == 0:
        return None
    fill = array.dtype.type(out.fill_value)
    rows = array.reshape(1, *array.shape)
    if not all(level.stores_fill or level.is_leaf for level in out.format.levels()):
        rows = without_fills(rows, fill)
    found = []
    for level, parts in zip(out.format.levels(), out.layout.fields, strict=True):
        made = level.from_rows(rows, fill)
        if made is None:
            return None
        fields, below = made
        most = 0 if level.is_leaf else max(rows.shape[1], len(below))
        for name, part in parts.items():
            dtype = part.field.dtype
            if part.field.is_buffer:
                if dtype.kind in "iu" and not level.is_leaf and most > np.iinfo(dtype).max:
                    return None
                fields[name] = np.ascontiguousarray(fields[name], dtype)
        found.append(fields)
        rows = below
    return found


def _are_few(tensor: Any, key: Any, shape: tuple[int, ...]) -> bool:
    """Whether the elements of all arrays of this kind so far, and of one of this shape, are few for
    the levels of ``tensor``; the places of empty fibers count, too."""
    total = _done.get(key, 0) + math.prod(n + 1 for n in shape)
    if total > MOST * (1 if _lists_of(tensor) is not None else OTHERS):
        return False
    if len(_done) >= MOST_FORMATS:
        _done.clear()
    _done[key] = total
    return True


_done: dict[Any, int] = {}


def is_dense(tensor: Any) -> bool:
    """Whether this is a tensor all of whose levels are dense, around values."""
    return isinstance(tensor, TensorStorage) and tensor.layout.dense


def memory_of(array: Any) -> np.ndarray[Any, Any] | None:
    """The elements of a tensor, or of a view of one, as an array over its memory, so that what is
    written to one is in the other; None where ``to_numpy`` makes an array of its own: of levels
    that are not dense, of a leaf that stores values in a form of its own, of a view that a kernel
    reads."""
    inner = array
    while not isinstance(inner, TensorStorage):
        if not hasattr(inner, "tensor"):
            return None
        inner = inner.tensor
    if not is_dense(inner):
        return None
    found: np.ndarray[Any, Any] = array.to_numpy()
    return found if inner is array or np.may_share_memory(found, inner.arrays[0]) else None


_INTP = np.dtype(np.intp)
Lists = tuple[int, Sequence[tuple[int | None, int]], int]
"""How many levels are dense, the numbers of the buffers of each list inside of them (where its
fibers end, None if an entry has an index in the level above, too; and indices), and that of the
values."""
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
    if leaf != "values" or not inner or set(layouts[dense:]) - {"compressed", "coordinates"}:
        return None
    ends = [fields.get("ptr") for fields in inner]
    parts = [
        (None if ptr is None else ptr.number, fields["idx"].number)
        for ptr, fields in zip(ends, inner, strict=True)
    ]
    return dense, parts, tensor.layout.fields[-1]["val"].number


__all__ = [
    "array_of_lists", "arrays_in_use", "chosen_of_lists", "coordinates_of_lists",
    "fields_from_array", "is_dense", "listed_element", "memory_of", "positions_of_lists",
    "stored_positions", "with_part_of_row",
]  # fmt: skip
