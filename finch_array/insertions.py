"""Indices that are put into a dimension, or taken out: the coordinates of what is stored move, and
nothing else takes time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from finch_array.axes import broadcast_shape
from finch_array.joining import Segment, has_structure, joined
from finch_array.leaves import differs, same
from finch_array.operands import LONG, is_dense
from finch_array.ready import memory_for, warn_dense, warn_many
from finch_array.run import coordinates, sorted_tensor
from finch_core.errors import DimensionMismatch, OutOfBounds


def moves_by_coordinates(array: Any) -> bool:
    """Whether an array stores single elements, which are moved by their coordinates."""
    return not is_dense(array) and not has_structure(array)


def insertion_places(obj: Any, n: int, count: int) -> Any:
    """The indices in the result of what is inserted before the indices ``obj`` of a dimension of
    ``n``, as NumPy has them: for one index, of ``count`` in a row.

    Raises ``OutOfBounds``, ``ValueError`` for a mask of another length, and ``IndexError`` for what
    is no index."""
    at = _indices(obj, n, n + 1)
    if at.size == 1:
        return at[0] + np.arange(count)
    order = at.argsort(kind="stable")
    at[order] += np.arange(len(at))
    return at


def _indices(obj: Any, n: int, stop: int) -> Any:
    """Integers, a slice or a mask of a dimension of ``n`` as indices below ``stop``."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(n))
    found = np.asarray(obj)
    if found.dtype.kind == "b":
        if found.shape != (n,):
            raise ValueError(f"a mask of shape {found.shape} for a dimension of size {n}")
        return np.flatnonzero(found)
    if found.dtype.kind not in "iu" and found.size:
        raise IndexError(f"indices are integers, a slice or a mask, not {found.dtype}")
    found = found.reshape(-1).astype(np.intp)
    bad = found[(found < -n) | (found >= stop)]
    if bad.size:
        raise OutOfBounds(f"index {bad[0]} is out of bounds for a dimension of size {n}")
    return np.where(found < 0, found + n, found)


def inserted(array: Any, new: Any, at: Any, axis: int) -> Any:
    """``array`` with the parts of ``new``, repeated where it has a dimension of 1, at the indices
    ``at`` of the result along ``axis``: elements equal to the fill are not stored. Raises
    ``DimensionMismatch`` for another shape of ``new``, and ``OutOfMemory``."""
    shape, coords, values = coordinates(array)
    before = np.sort(at) - np.arange(len(at))  # the indices of the array that they are before
    coords = list(coords)
    coords[axis] = coords[axis] + before.searchsorted(coords[axis], side="right")
    wanted = (*shape[:axis], len(at), *shape[axis + 1 :])
    with memory_for(wanted, "one that is mostly the fill takes less", "an inserted part"):
        own, more = _repeated(array, new, wanted)
        own[axis] = at[own[axis]]
        whole = [np.concatenate([a, b]) for a, b in zip(coords, own, strict=True)]
        values = np.concatenate([values, more])
        longer = (*shape[:axis], shape[axis] + len(at), *shape[axis + 1 :])
        return sorted_tensor(longer, whole, values, array.fill_value, of=(array,))


def _repeated(array: Any, new: Any, wanted: tuple[int, ...]) -> tuple[list[Any], Any]:
    """The coordinates and values of the elements of ``new``, repeated to a shape, that differ from
    the fill of ``array``."""
    if new.ndim > len(wanted) or broadcast_shape(new.shape, wanted) != wanted:
        raise DimensionMismatch(f"an array of shape {new.shape} cannot be broadcast to {wanted}")
    fill = array.fill_value
    if is_dense(new) or not same(new.fill_value, fill):
        if not is_dense(new):
            hint = "a part with the fill of the array takes memory for what differs from it"
            warn_dense("insert", new.shape, new.dtype, [array, new], hint)
        data = new.to_numpy()
        own: Any = differs(data, fill).nonzero()
        values = data[own]
    else:
        _, own, values = coordinates(new)
    longer = [k for k, n in enumerate(wanted) if new.shape[k] != n]
    sizes = tuple([wanted[k] for k in longer])
    count = math.prod(sizes)
    if not longer or not len(values):
        return list(own), values
    warn_many("insert", count * len(values), array, [array, new])
    places = np.unravel_index(np.arange(count), sizes)
    coords = [c.repeat(count) for c in own]
    for k, place in zip(longer, places, strict=True):
        coords[k] = np.tile(place, len(values))
    return coords, values.repeat(count)


def deleted(array: Any, obj: Any, axis: int) -> Any:
    """``array`` without the indices ``obj`` along ``axis``. Raises what ``insertion_places``
    does."""
    shape, coords, values = coordinates(array)
    n = shape[axis]
    gone = np.unique(_indices(obj, n, n))
    before = gone.searchsorted(coords[axis])  # how many are taken out below an index
    kept = gone[np.minimum(before, len(gone) - 1)] != coords[axis] if len(gone) else before == 0
    coords = [c[kept] for c in coords]
    coords[axis] = coords[axis] - before[kept]
    shorter = (*shape[:axis], n - len(gone), *shape[axis + 1 :])
    return sorted_tensor(shorter, coords, values[kept], array.fill_value, of=(array,))


BY_INDEX = "lists take what is stored: A.to(SparseList(SparseList(Element(0.0))))"
"""The hint where there is no memory for an index of each element."""
STRETCHES = 8
"""Long dimensions of arrays of runs and blocks are moved by stretches, up to so many; others by the
index of each element."""


def taken_out(array: Any, obj: Any, axis: int) -> Any:
    """``deleted`` of an array of runs or blocks along a long dimension: what is between a few
    indices. None for others."""
    n = array.shape[axis]
    if n <= LONG or is_dense(array) or not isinstance(obj, (int, np.integer, list, np.ndarray)):
        return None
    gone = np.unique(_indices(obj, n, n))
    return _of_stretches(array, np.append(0, gone + 1), np.append(gone, n), axis)


def put_between(whole: Any, n: int, at: Any, axis: int) -> Any:
    """An array whose indices from ``n`` on, along a long dimension, move to the places ``at`` among
    the others. None where these are many, and along other dimensions."""
    if n <= LONG or is_dense(whole) or len(at) > STRETCHES:
        return None
    order = at.argsort(kind="stable")
    before = at[order] - np.arange(len(at))  # of the indices below n
    own, new = np.append(before, n), n + order
    starts = np.stack([np.append(0, before), np.append(new, n)], 1).reshape(-1)
    stops = np.stack([own, np.append(new + 1, n)], 1).reshape(-1)
    return _of_stretches(whole, starts, stops, axis)


def _of_stretches(array: Any, starts: Any, stops: Any, axis: int) -> Any:
    """The indices from each of ``starts`` up to ``stops`` of a dimension, one after another; None
    where these are many."""
    pairs = zip(starts.tolist(), stops.tolist(), strict=True)
    found = [Segment(array, start, stop) for start, stop in pairs if start < stop]
    if len(found) > 2 * STRETCHES:
        return None
    if len(found) < 2:
        found.insert(0, Segment(array, 0, 0))
    return joined(found, axis, array.dtype, array.fill_value)


__all__ = [
    "BY_INDEX", "deleted", "inserted", "insertion_places", "moves_by_coordinates",
    "put_between", "taken_out",
]  # fmt: skip
