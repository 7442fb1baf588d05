"""Coordinates as numbers: one for each, the permutations that sort them, pairs of equal ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_core.errors import DimensionMismatch
from finch_core.runtime.backends import compiles
from finch_core.runtime.convert import kernel_of
from finch_core.runtime.counting_sort import counted_order
from finch_core.runtime.sorting import increases


def keys_of(shape: tuple[int, ...], coords: Sequence[Any]) -> Any:
    """One number for each coordinate, in row-major order. Raises ``DimensionMismatch`` for a shape
    with more elements than an integer tells apart."""
    if len(shape) == 1:
        return coords[0]
    if math.prod(shape) > MOST_PLACES:
        raise DimensionMismatch(f"an array of shape {shape} has too many elements to be indexed so")
    return np.ravel_multi_index(tuple(coords), shape)


def order_of(shape: Any, coords: Any) -> Any:
    """The permutation that sorts coordinates; None if they are sorted."""
    count = len(coords[0])
    if count <= FEW:
        if math.prod(shape) > MOST_PLACES:
            return np.lexsort(coords[::-1])
        place = np.ravel_multi_index(tuple(coords), shape)
        return None if _rises(place) else place.argsort(kind="stable")
    if increases(coords, weakly=True):
        return None
    for m in range(1, len(shape)):  # what was sorted by the last dimensions, such as a transpose
        if increases(coords[m:], weakly=True):
            shape, coords = shape[:m], coords[:m]
            break
    if count > COUNTED and max(shape) <= 2 * count and compiles():
        return counted_order(shape, coords, kernel_of)
    if math.prod(shape) > MOST_PLACES:
        return np.lexsort(coords[::-1])
    return sorting_order(np.ravel_multi_index(tuple(coords), shape), math.prod(shape))


FEW = 1 << 10
"""So many numbers are sorted by comparing them."""
COUNTED = 1 << 18
"""More coordinates are sorted by kernels that count them."""
MOST_PLACES = int(np.iinfo(np.intp).max)
"""So many places have numbers of their own."""


def _rises(places: Any) -> bool:
    return not np.count_nonzero(places[1:] < places[:-1])


def sorting_order(places: Any, stop: int) -> Any:
    """The permutation that sorts numbers below ``stop``, those of equal ones in turn: NumPy sorts
    16 bits in linear time."""
    if len(places) <= FEW:
        return places.argsort(kind="stable")
    order, shift = None, 0
    while stop >> shift:
        digits = (places >> shift).astype(np.uint16)
        if order is None:
            order = np.argsort(digits, kind="stable")
        else:
            order = order[np.argsort(digits[order], kind="stable")]
        shift += 16
    return order


def matches(own: Any, sought: Any, stop: int) -> tuple[Any, Any]:
    """All pairs of equal elements, which are below ``stop``: their positions in ``own`` and in
    ``sought``."""
    order = sought.argsort(kind="stable")
    entry, place = matches_in_order(sought[order], own, stop)[::-1]
    return entry, order[place]


def matches_in_order(own: Any, sought: Any, stop: int) -> tuple[Any, Any]:
    """The same, of elements ``own`` that are sorted, in the order of ``sought``."""
    return pairs(*ranges_in_order(own, sought, stop))


def ranges_in_order(own: Any, sought: Any, stop: int) -> tuple[Any, Any]:
    """Where the elements of ``own``, which are sorted, begin that equal each of ``sought``, all
    below ``stop``, and how many they are."""
    if len(sought) > FEW and stop <= 2 * (len(own) + len(sought)):  # counting costs less
        counts = np.bincount(own, minlength=stop)
        return (np.add.accumulate(counts) - counts)[sought], counts[sought]
    first = own.searchsorted(sought)
    return first, own.searchsorted(sought, "right") - first


def pairs(first: Any, count: Any) -> tuple[Any, Any]:
    """Each position of ranges that begin at ``first``, and the number of its range."""
    place = np.arange(len(count)).repeat(count)
    first = first - (np.add.accumulate(count) - count)
    return first.repeat(count) + np.arange(len(place)), place


__all__ = [
    "FEW", "MOST_PLACES", "keys_of", "matches", "matches_in_order", "order_of", "pairs",
    "ranges_in_order", "sorting_order",
]  # fmt: skip
