"""Sparse values assigned at integer arrays, by what they and the array store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_array.indexing import result_dimensions
from finch_array.indices import Parts
from finch_array.leaves import differs
from finch_array.manipulation import broadcast_to
from finch_array.operands import NUMBERS, is_dense, settled
from finch_array.run import coordinates, sorted_tensor
from finch_array.sorted_coordinates import keys_of
from finch_core.errors import DimensionMismatch
from finch_core.ir.operators import alike
from finch_core.records import frozen
from finch_core.runtime.tensor import Tensor


def scattered(array: Tensor, parts: Parts, value: Any) -> Any:
    """The array with a sparse ``value`` of the same fill, or with the fill, at integer arrays: by
    what both store. None for other indices and values."""
    fill = array.fill_value
    arrays, dimensions = result_dimensions(parts.widths)
    if not any(x.__class__ is np.ndarray for x in parts.items):
        return None
    if isinstance(value, NUMBERS):
        if not alike(array.dtype.type(value), fill):
            return None
    elif is_dense(value) or not alike(array.dtype.type(value.fill_value), fill):
        return None
    shape = array.shape
    joint = np.broadcast_shapes(*(np.shape(parts.items[k]) for k in arrays))
    groups = _groups({k: parts.items[k] for k in arrays}, joint)
    slices = {k: range(*x.indices(shape[k])) for k, x in enumerate(parts.items) if k not in arrays}
    _, coords, values = coordinates(array)
    cleared = inside(len(values), [coords[k] for k in slices], list(slices.values()))
    for group in groups:
        cleared &= np.isin(group.keys(shape, coords), group.keys(shape, group.sought))
    whole, found = [c[~cleared] for c in coords], values[~cleared]
    if not isinstance(value, NUMBERS):
        full: list[int] = []
        along: dict[int, int] = {}
        first = 0
        for item in dimensions:
            if item == "joint":
                first = len(full)
            elif item is not None:
                along[item] = len(full)
            full += joint if item == "joint" else [1 if item is None else len(slices[item])]
        _, given, new = coordinates(spread(settled(value), tuple(full)))
        there = differs(new, fill)
        added = {k: s.start + s.step * given[along[k]].astype(np.intp) for k, s in slices.items()}
        for group in groups:
            place = np.zeros(len(new), np.intp)
            for axis in group.axes:
                place = place * joint[axis] + given[first + axis]
            there &= group.last(shape)[place]
            added |= {k: sought[place] for k, sought in group.sought.items()}
        whole = [np.concatenate([c, added[k][there]]) for k, c in enumerate(whole)]
        found = np.concatenate([found, new[there].astype(array.dtype)])
    return sorted_tensor(shape, whole, found, fill, of=(array,))


@frozen(eq=False)
class _Group:
    """Dimensions whose indices are chosen together: by arrays along some axes of those to which all
    broadcast. ``sought`` are their indices by dimension, one of each for a place."""

    axes: tuple[int, ...]
    sought: dict[int, Any]

    def keys(self, shape: Sequence[int], indices: Any) -> Any:
        """A number for each tuple of indices of the dimensions."""
        own = list(self.sought)
        return keys_of(tuple([shape[k] for k in own]), [indices[k] for k in own])

    def last(self, shape: Sequence[int]) -> Any:
        """Which places are the last of those that are equal: what is assigned there counts."""
        keys = self.keys(shape, self.sought)
        found = np.zeros(len(keys), bool)
        found[len(keys) - 1 - np.unique(keys[::-1], return_index=True)[1]] = True
        return found


def _groups(items: dict[int, Any], joint: tuple[int, ...]) -> list[_Group]:
    """The dimensions in groups: each alone where all arrays run along axes of their own, as those
    of ``np.ix_`` do."""
    axes: dict[int, tuple[int, ...]] = {}
    for k, x in items.items():
        own = np.shape(x)
        axes[k] = tuple([len(joint) - len(own) + a for a, n in enumerate(own) if n != 1])
    every = [axis for own in axes.values() for axis in own]
    if len(set(every)) == len(every) and all(len(own) < 2 for own in axes.values()):
        return [_Group(axes[k], {k: np.reshape(x, -1)}) for k, x in items.items()]
    sought = {k: np.broadcast_to(x, joint).reshape(-1) for k, x in items.items()}
    return [_Group(tuple(range(len(joint))), sought)]


def inside(count: int, coords: Any, spans: Sequence[range]) -> Any:
    """Which of ``count`` entries have an index of the ranges in each dimension."""
    found = np.ones(count, bool)
    for c, span in zip(coords, spans, strict=True):
        up = span if span.step > 0 else span[::-1]
        found &= (c >= up.start) & (c < up.stop) & ((c - up.start) % up.step == 0)
    return found


def spread(value: Any, shape: tuple[int, ...]) -> Any:
    """An array, but for dimensions of 1 in front, broadcast to the shape of a part. Raises
    ``DimensionMismatch`` where it does not fit."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    try:
        return broadcast_to(value, shape)
    except DimensionMismatch:
        raise misfit(value.shape, shape) from None


def misfit(value: tuple[int, ...], part: tuple[int, ...]) -> DimensionMismatch:
    """What is raised for a value that does not fit a part."""
    return DimensionMismatch(f"a value of shape {value} does not fit a part of shape {part}")


__all__ = ["inside", "misfit", "scattered", "spread"]
