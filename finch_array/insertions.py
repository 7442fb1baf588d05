"""Indices that are put into a dimension, or taken out: the coordinates of what is stored move, and
nothing else takes time."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_array.joining import has_structure
from finch_array.leaves import same
from finch_array.operands import is_dense
from finch_array.run import coordinates, sorted_tensor
from finch_core.errors import OutOfBounds


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
    """``array`` with the parts of ``new`` at the indices ``at`` of the result along ``axis``."""
    shape, coords, values = coordinates(array)
    before = np.sort(at) - np.arange(len(at))  # the indices of the array that they are before
    coords = list(coords)
    coords[axis] = coords[axis] + before.searchsorted(coords[axis], side="right")
    if same(new.fill_value, array.fill_value) and not is_dense(new):
        _, own, more = coordinates(new)
    else:
        data = new.to_numpy()
        own, more = list(np.unravel_index(np.arange(data.size), data.shape)), data.reshape(-1)
    own = list(own)
    own[axis] = at[own[axis]]
    whole = [np.concatenate([a, b]) for a, b in zip(coords, own, strict=True)]
    longer = (*shape[:axis], shape[axis] + len(at), *shape[axis + 1 :])
    return sorted_tensor(
        longer, whole, np.concatenate([values, more]), array.fill_value, of=(array,)
    )


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


__all__ = ["deleted", "inserted", "insertion_places", "moves_by_coordinates"]
