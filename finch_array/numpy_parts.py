"""Functions of NumPy that take arrays apart or find their middle, on tensors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array import reductions as red
from finch_array.axes import axis_of
from finch_array.indexing import getitem, take
from finch_array.insertions import BY_INDEX, deleted, moves_by_coordinates, taken_out
from finch_array.manipulation import reshape
from finch_array.operands import array_of, in_numpy
from finch_array.ready import memory_for


def _along(axis: int, part: Any) -> tuple[Any, ...]:
    """The index that takes ``part`` of dimension ``axis``."""
    return (*[slice(None)] * axis, part)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The parts of ``ary`` between indices, or of so many parts, which may differ by 1."""
    array = array_of(ary)
    axis = axis_of(axis, array.ndim)
    n = array.shape[axis]
    if np.ndim(indices_or_sections):
        bounds = [0, *np.asarray(indices_or_sections).tolist(), n]
    else:
        count = int(indices_or_sections)
        if count <= 0:
            raise ValueError("an array is split into one part or more")
        bounds = [k * (n // count) + min(k, n % count) for k in range(count + 1)]
    pairs = pairwise(bounds)
    return [getitem(array, _along(axis, slice(*pair))) for pair in pairs]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The parts of ``ary`` between indices, or of so many equal parts. Raises ``ValueError`` where
    the length is no multiple of their number."""
    array, indices_or_sections = array_of(ary), in_numpy(indices_or_sections)
    n = array.shape[axis_of(axis, array.ndim)]
    if not np.ndim(indices_or_sections) and n % int(indices_or_sections):
        raise ValueError(f"a length of {n} is no multiple of {indices_or_sections}")
    return array_split(array, indices_or_sections, axis)


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """``arr`` without the indices ``obj`` along ``axis`` (None: of all elements, in a row)."""
    array = array_of(arr)
    if axis is None:
        array, axis = reshape(array, (-1,)), 0
    axis = axis_of(axis, array.ndim)
    if moves_by_coordinates(array):
        return deleted(array, in_numpy(obj), axis)
    found = taken_out(array, in_numpy(obj), axis)
    if found is not None:
        return found
    with memory_for((array.shape[axis],), BY_INDEX, "the indices"):
        kept = np.delete(np.arange(array.shape[axis]), in_numpy(obj))
        return take(array, kept, axis=axis)


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """The greatest element less the least, along ``axis``."""
    high, low = (f(a, axis=axis, keepdims=keepdims) for f in (red.max, red.min))
    return fn.FUNCTIONS["subtract"](high, low)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.split: split, np.array_split: array_split, np.delete: delete, np.ptp: ptp,
    np.vsplit: lambda ary, parts: split(ary, parts, 0),
    np.hsplit: lambda ary, parts: split(ary, parts, 1 if array_of(ary).ndim > 1 else 0),
}  # fmt: skip
"""The function of this package for each of NumPy's."""

__all__ = ["FUNCTIONS"]
