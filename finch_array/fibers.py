"""The stored elements of arrays by fibers along one axis, extremes and sorted values of each.

A fiber that stores nothing is not looked at: work and memory are those of what is stored. Stored
elements of one fiber are neighbours, so that ``reduceat`` reduces all fibers at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_array import top_elements
from finch_array.leaves import differs, same
from finch_array.manipulation import check_size, unraveled
from finch_array.plans import DENSE_LEAST, DENSE_RATIO
from finch_array.run import as_seen, coordinates, sorted_tensor
from finch_array.sorted_coordinates import FEW, MOST_PLACES, order_of
from finch_core.records import evolve, frozen
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.worth import are_few


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
        return np.arange(len(self.places)) - self.starts.repeat(self.counts)

    def gaps(self) -> Any:
        """The first index that each fiber does not store; its length if it stores all."""
        if not len(self.starts):
            return self.counts
        return np.add.reduceat(self.places == self.ranks, self.starts, dtype=np.intp)

    def at(self, places: Any) -> Any:
        """The values at these places among ``values``."""
        return self.values[places]


def fibers(array: Any, axis: int) -> Fibers:
    """The stored elements of ``array`` by fibers along ``axis``. Raises ``DimensionMismatch`` for
    more fibers than an index tells apart."""
    shape, coords, values = coordinates(array)
    places = coords.pop(axis)
    length, outer = shape[axis], shape[:axis] + shape[axis + 1 :]
    if len(outer) == 1:
        (numbers,) = coords
    elif outer:
        check_size(outer)
        numbers = np.ravel_multi_index(tuple(coords), outer)
    else:
        numbers = np.zeros(len(values), np.intp)
    if axis < len(outer) or array.__class__ is not Tensor:  # otherwise they are sorted so
        order = order_of((math.prod(outer), length), [numbers, places])
        if order is not None:
            numbers, places, values = numbers[order], places[order], values[order]
    first = np.ones(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    (starts,) = first.nonzero()
    counts = np.empty_like(starts)
    if len(starts):
        counts[:-1] = starts[1:] - starts[:-1]
        counts[-1] = len(numbers) - starts[-1]
    shape = (*outer, length)
    return Fibers(numbers[starts], starts, counts, places, values, array.fill_value, shape)


def first_extremes(own: Fibers, greatest: bool, array: Any) -> Any:
    """For each fiber of ``array``, the index of its first greatest or least element, or of its
    first NaN: a NumPy array; a sparse tensor of fill 0, the index in a fiber of fills, where a
    reduction would be sparse."""
    extreme = np.maximum if greatest else np.minimum
    place = own.places[:0]
    if len(own.starts):
        best = extreme.reduceat(own.values, own.starts)
        hits = np.flatnonzero(same(own.values, np.repeat(best, own.counts)))
        place = own.places[hits[np.searchsorted(hits, own.starts)]]
        fills = np.full(len(best), own.fill, best.dtype)
        rivals = (own.counts < own.shape[-1]) & same(extreme(best, fills), fills)
        if rivals.any():
            gap = own.gaps()
            sooner = rivals & ((gap < place) | ~same(best, fills))
            place = np.where(sooner, gap, place)
    outer = own.shape[:-1]
    if outer and math.prod(outer) > max(DENSE_LEAST, DENSE_RATIO * len(own.values)):
        kept = place != 0
        coords, place = unraveled(own.numbers[kept], outer), place[kept]
        return sorted_tensor(outer, coords, place, np.intp(0), of=(array,), in_order=True)
    found = np.zeros(outer, np.intp)
    found.reshape(-1)[own.numbers] = place
    return found


def first_extreme(array: Any, greatest: bool) -> int:
    """The number, in row-major order, of the first greatest or least element of an array, or of its
    first NaN."""
    shape, coords, values = coordinates(array)
    fill = array.fill_value
    if not len(values):
        return 0
    places = np.ravel_multi_index(tuple(coords), shape) if len(shape) > 1 else coords[0]
    if array.__class__ is not Tensor:  # otherwise they are sorted
        order = places.argsort(kind="stable")
        places, values = places[order], values[order]
    at = (values.argmax if greatest else values.argmin)()
    best, place = values[at], int(places[at])
    if len(values) == math.prod(shape):
        return place
    extreme = (np.maximum if greatest else np.minimum)(best, fill)
    if not same(extreme, fill):
        return place
    gaps = (places != np.arange(len(places))).argmax() if places[-1] >= len(places) else len(places)
    return min(int(gaps), place) if same(best, fill) else int(gaps)


def top_of_fibers(own: Fibers, k: int, greatest: bool, axis: int, array: Any) -> tuple[Any, Any]:
    """The ``k`` greatest or least elements of each fiber of ``array`` along ``axis``, in order, and
    their indices: of equal ones the first. They are among what is stored and the first ``k``
    elements that are not. NumPy arrays; sparse ones where a reduction would be sparse."""
    *outer, length = own.shape
    stores = evolve(own, numbers=np.arange(len(own.starts)), shape=(len(own.starts), length))
    top, at = _top(stores, k, greatest)
    if outer and k and math.prod(outer) * k > max(DENSE_LEAST, DENSE_RATIO * len(own.values)):
        return top_elements.where_stored(own, top, at, axis, (array,))
    tops, places = top_elements.in_all(own, top, at)
    return np.moveaxis(tops, -1, axis), np.moveaxis(places, -1, axis)


def _top(own: Fibers, k: int, greatest: bool) -> tuple[Any, Any]:
    """The first elements and their indices of the fibers of a matrix, each of which stores
    something."""
    count, length = own.shape
    few = are_few(("top", own.values.dtype), len(own.values))
    if (k <= top_elements.MOST and not few) or count * (length + 1) > MOST_PLACES:
        return top_elements.inserted(own, k, greatest)
    rows, first = np.arange(count)[:, None], np.arange(k)
    numbers = own.numbers.repeat(own.counts)
    before = numbers * (length + 1) + own.places - own.ranks  # gaps before each, by fibers
    begin = np.searchsorted(numbers, rows)
    gaps = first + before.searchsorted(rows * (length + 1) + first, "right") - begin
    there = gaps < length
    numbers = np.concatenate([numbers, np.broadcast_to(rows, gaps.shape)[there]])
    places = np.concatenate([own.places, gaps[there]])
    fills = np.full(np.count_nonzero(there), own.fill, own.values.dtype)
    values = np.concatenate([own.values, fills])
    rank = np.unique(values, return_inverse=True)[1]
    order = np.lexsort((places, -rank if greatest else rank, numbers))
    chosen = order[np.searchsorted(numbers[order], rows) + first]
    return values[chosen], places[chosen]


def sorted_fibers(own: Fibers, descending: bool) -> Fibers:
    """The fibers of the array sorted along its axis: NaN last, or first where ``descending``."""
    ranks = own.ranks
    values = sorted_values(own, ranks, descending)
    fill = values.dtype.type(own.fill)
    found = np.asarray([fill]).searchsorted(values, "right" if descending else "left")
    behind = found == 0 if descending else found > 0  # NaN is greatest
    places = ranks + behind * (own.shape[-1] - own.counts).repeat(own.counts)
    return Fibers(own.numbers, own.starts, own.counts, places, values, own.fill, own.shape)


def sorted_values(own: Fibers, ranks: Any, descending: bool) -> Any:
    """The values of each fiber, sorted. Fibers of about as many are rows of one matrix, which NumPy
    sorts at once: with what is greatest behind the values."""
    if len(own.values) <= FEW:
        found = own.values[np.lexsort((own.values, own.numbers.repeat(own.counts)))]
        if not descending:
            return found
        return found[(own.starts + own.counts - 1).repeat(own.counts) - ranks]
    found = np.empty_like(own.values)
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


def of_fibers(own: Fibers, axis: int, of: Sequence[Any] = ()) -> Any:
    """The array of which these, with rising places, are fibers along ``axis``, made ``of`` arrays
    whose width of indices it keeps."""
    outer = own.shape[:-1]
    numbers = own.numbers.repeat(own.counts)
    coords = [*(unraveled(numbers, outer) if outer else ()), own.places]
    values, fill = own.values, own.fill
    keep = differs(values, fill)
    if not keep.all():
        coords, values = [c[keep] for c in coords], values[keep]
    found = sorted_tensor(own.shape, coords, values, fill, of=of, in_order=True)
    return as_seen(found, [*(k for k in range(len(own.shape)) if k != axis), axis])


__all__ = ["Fibers", "fibers", "first_extreme", "first_extremes", "of_fibers", "sorted_fibers"]
