"""The permutations that sort coordinates, and numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from finch_core.runtime.backends import compiles
from finch_core.runtime.convert import kernel_of
from finch_core.runtime.counting_sort import counted_order
from finch_core.runtime.sorting import increases


def order_of(shape: Any, coords: Any) -> Any:
    """The permutation that sorts coordinates; None if they are sorted."""
    count = len(coords[0])
    if count <= FEW:
        if math.prod(shape) > _MOST_PLACES:
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
    if math.prod(shape) > _MOST_PLACES:
        return np.lexsort(coords[::-1])
    return sorting_order(np.ravel_multi_index(tuple(coords), shape), math.prod(shape))


FEW = 1 << 10
"""So many numbers are sorted by comparing them."""
COUNTED = 1 << 18
"""More coordinates are sorted by kernels that count them."""
_MOST_PLACES = int(np.iinfo(np.intp).max)


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


__all__ = ["FEW", "order_of", "sorting_order"]
