"""Coordinates in the order of their indices, and matrices in rows made of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.level import Format
from finch_core.runtime.backends import compiles

if TYPE_CHECKING:
    from finch_core.runtime.counting_sort import Compiled

FEW = 1 << 18
"""Up to so many coordinates are sorted without compiling a kernel for it."""

MANY, DIGIT = 1 << 13, 16
"""So many coordinates are sorted by their digits, of this number of bits."""

PART = 1 << 16
"""Coordinates that are compared at once: the temporary arrays fit in a cache."""


def sorted_coordinates(
    shape: tuple[int, ...], coords: list[Any], values: Any, compiled: Compiled | None = None
) -> tuple[list[Any], Any]:
    """Sorted coordinates and their values; duplicates are added. ``compiled`` gives the kernel of a
    function: many entries of a matrix are sorted by one."""
    if not coords or increases(coords):
        return coords, values
    if compiled is not None and len(coords) == 2 and _are_many(shape, len(values)) and compiles():
        pointers, columns, values = _counted(shape, [*coords, values], compiled, _added_rows)
        rows = np.repeat(np.arange(shape[0]), np.diff(pointers))
        return [rows, columns], values
    order = sorting(shape, coords)
    coords = [c[order] for c in coords]
    return _without_duplicates(coords, values[order], _new(coords))


def sorting(shape: tuple[int, ...], coords: list[Any], compiled: Compiled | None = None) -> Any:
    """The permutation that sorts coordinates; equal ones stay in their order. ``compiled``: see
    ``sorted_coordinates``."""
    count = len(coords[0])
    if count >= MANY:
        if increases(coords, weakly=True):
            return np.arange(count)
        if compiled is not None and len(coords) == 2 and _are_many(shape, count) and compiles():
            return _counted(shape, [*coords, np.arange(count)], compiled, _as_they_are)[2]
        return _by_digits(shape, coords)
    if math.prod(shape) > np.iinfo(np.intp).max:
        return np.lexsort(coords[::-1])
    place = coords[0].astype(np.intp)
    for coord, n in zip(coords[1:], shape[1:], strict=True):
        place *= n
        place += coord
    return np.argsort(place, kind="stable")


def _by_digits(shape: tuple[int, ...], coords: list[Any]) -> Any:
    """``sorting`` by digits of 16 bits, the last one first: NumPy sorts these by counting."""
    order: Any = None
    for coord, n in zip(coords[::-1], shape[::-1], strict=True):
        for shift in range(0, max(n - 1, 0).bit_length(), DIGIT):
            digits = (coord >> shift if shift else coord).astype(np.uint16)
            if order is None:
                order = np.argsort(digits, kind="stable")
            else:
                order = order[np.argsort(digits[order], kind="stable")]
    return np.arange(len(coords[0])) if order is None else order


def _as_they_are(*rows: Any) -> Rows:
    """Entries in rows with their duplicates."""
    return rows


def _new(coords: list[Any]) -> Any:
    """Whether each of sorted coordinates differs from that before it."""
    new = np.ones(len(coords[0]), bool)
    new[1:] = np.any([c[1:] != c[:-1] for c in coords], axis=0)
    return new


def starts_of(coords: list[Any]) -> Any:
    """Where each of the distinct sorted coordinates starts."""
    return np.flatnonzero(_new(coords))


def in_order_of(values: Any, order: Any, starts: Any) -> Any:
    """The values of sorted coordinates, those of equal ones added."""
    values = values[order]
    return values if len(starts) == len(values) else _added(values, starts)


def _without_duplicates(coords: list[Any], values: Any, new: Any) -> tuple[list[Any], Any]:
    """Sorted coordinates where ``new`` says that one differs from that before it."""
    if not new.all():
        starts = np.flatnonzero(new)
        values = _added(values, starts)
        coords = [c[starts] for c in coords]
    return coords, values


def _added(values: Any, starts: Any) -> Any:
    """Sums of the parts of ``values`` that begin at ``starts``; raises ``FormatError`` where one
    does not fit in a narrow integer dtype."""
    ufunc = np.logical_or if values.dtype == bool else np.add
    sums = ufunc.reduceat(values, starts)
    found = sums.astype(values.dtype)
    if values.dtype.kind in "iu" and not np.array_equal(found, sums):
        raise FormatError(
            f"entries of the same index add up to {sums[found != sums][0]}, which does not fit in "
            f"{values.dtype}",
            hint="pass values of a wider dtype, as in values.astype(np.int64)",
        )
    return found


def increases(coords: list[Any], weakly: bool = False) -> bool:
    """Whether coordinates are sorted and unique; ``weakly``: whether they are sorted."""
    return all(
        _part_increases([coord[start : start + PART + 1] for coord in coords], weakly)
        for start in range(0, len(coords[0]), PART)
    )


def _part_increases(coords: list[Any], weakly: bool) -> bool:
    """``_increases`` of few coordinates: from the last dimension to the first, whether one is less
    than the next in the dimensions so far."""
    less: Any = weakly
    for coord in reversed(coords):
        before, after = coord[:-1], coord[1:]
        less = (before < after) | ((before == after) & less)
    return bool(less.all())


def csr_buffers(
    format: Format,
    shape: tuple[int, ...],
    given: list[Any],
    owned: bool,
    compiled: Compiled,
) -> dict[str, Any] | None:
    """The buffers of a CSR matrix of its rows, columns and values, duplicates added; None if
    ``format`` is not CSR or its integers are too narrow. ``given`` is emptied if they are
    ``owned``: their memory is used again. ``compiled`` gives the kernel of a function."""
    levels = list(format.levels())
    if [level.layout for level in levels] != ["dense", "compressed", "values"]:
        return None
    dtypes = {field.name: field.dtype for field in levels[1].fields}
    room = np.iinfo(dtypes["idx"]).max, np.iinfo(dtypes["ptr"]).max
    count = len(given[2])
    if shape[1] > room[0] or count > room[1] or given[2].dtype != format.dtype:
        return None
    parts = given if owned else list(given)
    if increases(parts[:2]):
        kept = parts if owned else [part.copy() for part in parts]
        rows = _pointers(kept[0], shape[0]), kept[1], kept[2]
    elif _are_many(shape, count) and compiles():
        rows = _counted(shape, parts, compiled, _added_rows)
    else:
        rows = _compared(shape, parts)
    return {
        "1_ptr": rows[0].astype(dtypes["ptr"], copy=False),
        "1_idx": np.ascontiguousarray(rows[1], dtypes["idx"]),
        "2_val": np.ascontiguousarray(rows[2]),
    }


def _are_many(shape: tuple[int, ...], count: int) -> bool:
    """Whether it pays to compile kernels that count the entries of rows and columns."""
    return count >= max(FEW, max(shape) // 2)


Rows = tuple[Any, Any, Any]
"""The position at which each row begins, the columns and the values."""


def _compared(shape: tuple[int, ...], parts: list[Any]) -> Rows:
    """Entries in rows, by comparing their coordinates."""
    coords, values = sorted_coordinates(shape, parts[:2], parts[2])
    return _pointers(coords[0], shape[0]), coords[1], values


def _counted(
    shape: tuple[int, ...], parts: list[Any], compiled: Compiled, add: Callable[..., Rows]
) -> Rows:
    """Entries in rows, by counting those of each row and column; empties ``parts``. ``add`` takes
    integers with duplicates."""
    from finch_core.runtime.counting_sort import sorted_rows

    return sorted_rows(shape, parts, add, compiled)


def _added_rows(pointers: Any, columns: Any, values: Any) -> Rows:
    """Entries in rows without their duplicates. Raises ``FormatError`` as ``_added`` does."""
    count = len(pointers) - 1
    rows = np.repeat(np.arange(count), np.diff(pointers))
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    coords, values = _without_duplicates([rows, columns], values, new)
    return _pointers(coords[0], count), coords[1], values


def _pointers(rows: Any, count: int) -> Any:
    pointers = np.zeros(count + 1, np.intp)
    np.cumsum(np.bincount(rows, minlength=count), out=pointers[1:])
    return pointers
