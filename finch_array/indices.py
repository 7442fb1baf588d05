"""Indices of arrays taken apart: one item for each dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_array.operands import entries
from finch_core.errors import FormatError, OutOfBounds
from finch_core.records import frozen
from finch_core.runtime.compressed import format_of
from finch_core.runtime.scipy_arrays import is_hypersparse
from finch_core.runtime.tensor import Tensor

APART = -1
"""The width of a ``...`` that stands for no dimension: arrays before and behind it are not next to
each other."""


@frozen(eq=False)
class Parts:
    """An index taken apart: one item (an int, a slice or an array of integers) for each dimension
    of the array, and where the result has new dimensions of 1. ``widths`` are those of what was
    given, in turn: 0 of a slice, None of a new dimension, ``APART`` of a ``...`` for no dimension.
    """

    items: tuple[Any, ...]
    new: tuple[int, ...]
    widths: tuple[int | None, ...]


def parts_of(index: Any, shape: tuple[int, ...]) -> Parts:
    """An index of an array of this shape, taken apart.

    Raises ``OutOfBounds`` for an index that there is not or one too many, and ``FormatError`` for
    what is no index.
    """
    return _placed(expanded(index, shape), shape)


def without_flags(index: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """An index with masks without dimensions, such as ``True``, as two, one of the result of the
    other: new dimensions of 1 in the place of these masks, and integer arrays that take these or
    nothing. None for an index without such masks."""
    given = index if isinstance(index, tuple) else (index,)
    if not any(map(_is_flag, given)):
        return None
    first: list[Any] = []
    for x in given:
        if _is_flag(x):
            first.append(None)
        elif x is not None:
            first += [x] if x is Ellipsis else [slice(None)] * width(_item(x))
    return tuple(first), tuple([np.flatnonzero(x) if _is_flag(x) else x for x in given])


def _is_flag(x: Any) -> bool:
    """Whether an item is a mask without dimensions."""
    if isinstance(x, (bool, np.bool_)):
        return True
    return getattr(x, "shape", None) == () and x.dtype.kind == "b"


def expanded(index: Any, shape: tuple[int, ...]) -> list[Any]:
    """The items of an index, with slices in the place of ``...`` and at the end; a ``...`` for no
    dimension stays.

    Raises ``OutOfBounds`` for more items than dimensions, or a second ``...``.
    """
    given = [_item(x) for x in index] if isinstance(index, tuple) else [_item(index)]
    used, dots = 0, []
    for k, x in enumerate(given):
        used += width(x)
        if x is Ellipsis:
            dots.append(k)
    if len(dots) > 1:
        raise OutOfBounds("an index has one ... at most")
    if used > len(shape):
        raise OutOfBounds(f"{used} indices for an array of {len(shape)} dimensions")
    at = dots[0] if dots else len(given)
    given[at : at + 1] = [slice(None)] * (len(shape) - used) or [Ellipsis][: len(dots)]
    return given


def _item(x: Any) -> Any:
    """One item of an index, with arrays as NumPy arrays."""
    if x is None or x is Ellipsis or x.__class__ in (slice, int):
        return x
    if isinstance(x, (int, np.integer)):
        return int(x)
    found = x
    if x.__class__ is not np.ndarray:
        found = x.to_numpy() if hasattr(x, "signature") else np.asarray(x)
    if found.dtype.kind not in "biu" and (found.size or found is x or hasattr(x, "signature")):
        raise FormatError(
            f"an index is an integer, slice, mask or integer array, not {found.dtype}"
        )
    if found.dtype.kind in "iu" and found.ndim == 0:
        return int(found)
    return found if found.size or found.dtype.kind in "biu" else found.astype(np.intp)


def width(x: Any) -> int:
    """The number of dimensions that an item indexes."""
    if x is None or x is Ellipsis:
        return 0
    return x.ndim if isinstance(x, np.ndarray) and x.dtype.kind == "b" else 1


def _placed(given: list[Any], shape: tuple[int, ...]) -> Parts:
    items: list[Any] = []
    new: list[int] = []
    widths: list[int | None] = []
    place = 0
    for x in given:
        if x is None:
            new.append(place)
            widths.append(None)
            place += 1
        elif x is Ellipsis:
            widths.append(APART)
        elif x.__class__ is slice:
            items.append(x)
            widths.append(0)
            place += 1
        elif isinstance(x, np.ndarray) and x.dtype.kind == "b":
            items += _mask_items(x, shape[len(items) : len(items) + x.ndim])
            widths.append(x.ndim)
            place += 1
        else:
            items.append(checked_item(x, shape[len(items)], len(items)))
            widths.append(1)
            place += not isinstance(x, int)
    _check_shapes([x.shape for x in items if isinstance(x, np.ndarray)])
    return Parts(tuple(items), tuple(new), tuple(widths))


def _check_shapes(shapes: list[tuple[int, ...]]) -> None:
    """Raise ``OutOfBounds``, as NumPy does, for arrays of indices that do not broadcast."""
    if len(set(shapes)) < 2:
        return
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        told = ", ".join(map(str, shapes))
        raise OutOfBounds(
            f"arrays of indices of shapes {told} do not broadcast",
            hint="A[rows][:, columns] and A[np.ix_(rows, columns)] take all pairs",
        ) from None


def _mask_items(mask: Any, shape: tuple[int, ...]) -> list[Any]:
    if mask.shape != shape:
        raise OutOfBounds(f"a mask of shape {mask.shape} for dimensions of shape {shape}")
    return list(np.nonzero(mask))


def checked_item(x: Any, n: int, k: int) -> Any:
    """An item, with integers from 0 up. Raises ``OutOfBounds`` for one outside the dimension."""
    if isinstance(x, slice):
        return x
    if isinstance(x, int):
        least = greatest = x
    elif x.size:
        if x.dtype == np.intp:
            unsigned = x.view(np.uintp)  # in which negative ones are the greatest
            if unsigned.flat[unsigned.argmax()] < n:
                return x
        least, greatest = x.flat[x.argmin()], x.flat[x.argmax()]
    else:
        return x.astype(np.intp)
    if not (least >= -n and greatest < n):
        bad = least if least < -n else greatest
        if not isinstance(x, int):
            bad = x[(x < -n) | (x >= n)].flat[0]
        raise OutOfBounds(f"index {bad} is out of bounds for dimension {k} of size {n}")
    if isinstance(x, int):
        return x % n
    return (np.where(x < 0, x + n, x) if least < 0 else x).astype(np.intp)


def of_shape(index: Any, array: Any) -> Any:
    """An index of an array with masks that have no sizes, such as ``LoTriMask()``, within its
    shape: one for all dimensions as an array of runs, others as arrays of NumPy. Any other index as
    it is. Raises ``OutOfBounds`` for more items than dimensions."""
    given = index if isinstance(index, tuple) else (index,)
    if not any(map(_is_sizeless, given)):
        return index
    shape = array.shape
    if len(given) == 1 and is_sizeless(given[0], array):
        return _of_sizes(given[0], array)
    widths = [len(x.shape) if _is_sizeless(x) else width(_item(x)) for x in given]
    if sum(widths) > len(shape):
        raise OutOfBounds(f"{sum(widths)} indices for an array of {len(shape)} dimensions")
    behind = next((k for k, x in enumerate(given) if x is Ellipsis), len(given))
    found, place = [], 0
    for k, (x, n) in enumerate(zip(given, widths, strict=True)):
        if k == behind:
            place = len(shape) - sum(widths[k:])
        found.append(x.to_numpy(shape[place : place + n]) if _is_sizeless(x) else x)
        place += n
    return tuple(found)


def _is_sizeless(x: Any) -> bool:
    """Whether an item of an index is a mask that has no sizes."""
    kind = getattr(getattr(x, "dtype", None), "kind", "")
    return kind == "b" and None in getattr(x, "shape", ())


def is_sizeless(index: Any, array: Any) -> bool:
    """Whether ``index`` is one mask without sizes for all dimensions of ``array``."""
    return _is_sizeless(index) and len(index.shape) == array.ndim


def _of_sizes(mask: Any, array: Any) -> Any:
    """A mask within the shape of an array, in runs."""
    from finch_array import functions as fn

    outermost = not is_hypersparse(array.shape, entries(array))
    format = format_of((outermost, *[False] * (array.ndim - 1)), np.False_, np.dtype(bool))
    return fn.where(mask, True, Tensor(format, array.shape))


def is_mask(index: Any, array: Any) -> bool:
    """Whether ``index`` is one boolean array of the shape of ``array``."""
    kind = getattr(getattr(index, "dtype", None), "kind", "")
    return kind == "b" and hasattr(index, "shape") and array.ndim > 0 and index.shape == array.shape


__all__ = [
    "Parts", "checked_item", "expanded", "is_mask", "is_sizeless", "of_shape", "parts_of", "width",
    "without_flags",
]  # fmt: skip
