"""The stored elements of arrays by fibers along one axis, extremes and sorted values of each.

A fiber that stores nothing is not looked at: work and memory are those of what is stored. Stored
elements of one fiber are neighbours, so that ``reduceat`` reduces all fibers at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_array.leaves import differs, same
from finch_array.manipulation import moveaxis
from finch_array.run import coordinates, order_of, sorted_tensor
from finch_core.records import frozen


@frozen(eq=False)
class Fibers:
    """The stored elements of an array by fibers along one axis.

    ``places`` has the index of each stored element in its fiber, ``values`` its value, by fibers
    and then by places. ``numbers`` are those of the fibers that store something, in row-major order
    of the other dimensions, ``starts`` where their elements start, and ``counts`` how many they
    are. ``shape`` is that of the array with the axis last.
    """

    numbers: Any
    starts: Any
    counts: Any
    places: Any
    values: Any
    fill: Any
    shape: tuple[int, ...]

    @property
    def ranks(self) -> Any:
        """How many elements each fiber stores before each of its elements."""
        return np.arange(len(self.places)) - np.repeat(self.starts, self.counts)

    def gaps(self) -> Any:
        """The first index that each fiber does not store; its length if it stores all."""
        if not len(self.starts):
            return self.counts
        return np.add.reduceat(self.places == self.ranks, self.starts, dtype=np.intp)


def fibers(array: Any, axis: int) -> Fibers:
    """The stored elements of ``array`` by fibers along ``axis``."""
    shape, coords, values = coordinates(moveaxis(array, axis, -1))
    outer, places = shape[:-1], coords[-1]
    numbers = coords[0] if len(outer) == 1 else np.zeros(len(values), np.intp)
    if len(outer) > 1:
        numbers = np.ravel_multi_index(tuple(coords[:-1]), outer)
    order = order_of((int(np.prod(outer, dtype=np.intp)), shape[-1]), [numbers, places])
    if order is not None:
        numbers, places, values = numbers[order], places[order], values[order]
    first = np.ones(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    counts = np.diff(starts, append=len(numbers))
    return Fibers(numbers[starts], starts, counts, places, values, array.fill_value, shape)


def first_extremes(own: Fibers, greatest: bool) -> Any:
    """For each fiber, the index of its first greatest or least element, or of its first NaN."""
    extreme = np.maximum if greatest else np.minimum
    found = np.zeros(own.shape[:-1], np.intp)  # of what a fiber of fills has
    if not len(own.starts):
        return found
    best = extreme.reduceat(own.values, own.starts)
    hits = np.flatnonzero(same(own.values, np.repeat(best, own.counts)))
    place = own.places[hits[np.searchsorted(hits, own.starts)]]
    fills = np.full(len(best), own.fill, best.dtype)
    rivals = (own.counts < own.shape[-1]) & same(extreme(best, fills), fills)
    if rivals.any():
        gap = own.gaps()
        sooner = rivals & ((gap < place) | ~same(best, fills))
        place = np.where(sooner, gap, place)
    found.reshape(-1)[own.numbers] = place
    return found


def sorted_fibers(own: Fibers, descending: bool) -> Fibers:
    """The fibers of the array sorted along its axis: NaN last, or first where ``descending``."""
    values = sorted_values(own, descending)
    fill, ranks = values.dtype.type(own.fill), own.ranks
    found = np.searchsorted([fill], values, "right" if descending else "left")  # NaN is greatest
    behind = found == 0 if descending else found > 0
    places = np.where(behind, ranks + np.repeat(own.shape[-1] - own.counts, own.counts), ranks)
    return Fibers(own.numbers, own.starts, own.counts, places, values, own.fill, own.shape)


def sorted_values(own: Fibers, descending: bool) -> Any:
    """The values of each fiber, sorted. Fibers of about as many are rows of one matrix, which NumPy
    sorts at once: with what is greatest behind the values."""
    found = np.empty_like(own.values)
    if not len(own.values):
        return found
    last = np.arange(int(own.counts.max()))
    above = _greatest(own.values)
    width = 1
    while width < 2 * len(last):
        chosen = np.flatnonzero((own.counts > width // 2) & (own.counts <= width))
        if len(chosen):
            counts = own.counts[chosen, None]
            rank = last[:width]
            at = own.starts[chosen, None] + rank
            there = rank < counts
            rows = np.full(there.shape, above, own.values.dtype)
            rows[there] = own.values[at[there]]
            rows.sort(axis=1)
            if descending:
                at = own.starts[chosen, None] + (counts - 1 - rank)
            found[at[there]] = rows[there]
        width *= 2
    return found


def _greatest(values: Any) -> Any:
    """A value that sorts behind no other."""
    return complex(np.nan, np.nan) if values.dtype.kind == "c" else values.max()


def of_fibers(own: Fibers, axis: int) -> Any:
    """The array of which these are fibers along ``axis``."""
    outer = own.shape[:-1]
    numbers = np.repeat(own.numbers, own.counts)
    coords = [*(np.unravel_index(numbers, outer) if outer else ()), own.places]
    values, fill = own.values, own.fill
    keep = differs(values, fill)
    if not keep.all():
        coords, values = [c[keep] for c in coords], values[keep]
    return moveaxis(sorted_tensor(own.shape, coords, values, fill), -1, axis)


__all__ = ["Fibers", "fibers", "first_extremes", "of_fibers", "sorted_fibers"]
