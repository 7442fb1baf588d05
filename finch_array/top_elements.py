"""The greatest or least elements of fibers, found by insertion: a kernel."""

# the parameters of kernels are of any dtype
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_array.leaves import differs
from finch_array.manipulation import unraveled
from finch_array.run import as_seen, sorted_tensor
from finch_array.runs import Runs, reshaped
from finch_core.runtime.convert import kernel_of

if TYPE_CHECKING:
    from finch_array.fibers import Fibers

MOST = 64
"""Of more elements a fiber, insertion would take longer than sorting."""


def _precedes(a, at_a, b, at_b, greatest):
    """Whether an element comes before another: NaN is greater than all, of equal ones the first."""
    if a == b or (a != a and b != b):
        return at_a < at_b
    if a != a or b != b:
        return (a != a) == greatest
    return (a > b) == greatest


def _insert_top(top, at, numbers, starts, counts, places, values, length, fill, k, greatest):
    """The first ``k`` of the elements that each fiber stores, and of the first ``k`` that it does
    not."""
    for f in range(len(starts)):
        row = numbers[f]
        start = starts[f]
        stop = start + counts[f]
        q = start
        gap = 0
        gaps = 0
        found = 0
        while q < stop or (gap < length and gaps < k):
            is_gap = gaps < k and gap < length
            if q < stop:
                if is_gap and places[q] == gap:
                    gap += 1
                    is_gap = False
                elif is_gap and places[q] < gap:
                    is_gap = False
            value = fill
            place = gap
            if is_gap:
                gap += 1
                gaps += 1
            else:
                value = values[q]
                place = places[q]
                q += 1
            if found < k or _precedes(value, place, top[row, k - 1], at[row, k - 1], greatest):
                r = min(found, k - 1)
                while r > 0 and _precedes(value, place, top[row, r - 1], at[row, r - 1], greatest):
                    top[row, r] = top[row, r - 1]
                    at[row, r] = at[row, r - 1]
                    r -= 1
                top[row, r] = value
                at[row, r] = place
                found = min(found + 1, k)


def inserted(own: Fibers, k: int, greatest: bool) -> tuple[Any, Any]:
    """``fibers.top_of_fibers`` for at most ``MOST`` elements of each."""
    count, length = own.shape
    dtype = own.values.dtype
    top = np.full((count, k), own.fill, dtype)
    at = np.arange(k)[None, :].repeat(count, 0)
    if k:
        kernel_of(_insert_top)(
            top, at, own.numbers, own.starts, own.counts, own.places, own.values, length,
            dtype.type(own.fill), k, greatest,
        )  # fmt: skip
    return top, at


def in_all(own: Fibers, top: Any, at: Any) -> tuple[Any, Any]:
    """Of all fibers, as dense arrays: those that store nothing have the fill, and its first
    places."""
    outer, k = own.shape[:-1], top.shape[1]
    count = math.prod(outer)
    tops = np.full((count, k), own.fill, top.dtype)
    places = np.arange(k)[None, :].repeat(count, 0)
    tops[own.numbers], places[own.numbers] = top, at
    return tops.reshape(*outer, k), places.reshape(*outer, k)


def where_stored(own: Fibers, top: Any, at: Any, axis: int, of: Sequence[Any]) -> tuple[Any, Any]:
    """The same with the fibers along ``axis`` in memory for what is stored: single elements, and
    the places in runs over the fibers, since those that store nothing have the same."""
    outer, k = own.shape[:-1], top.shape[1]
    count = math.prod(outer)
    (kept,) = differs(top.reshape(-1), own.fill).nonzero()
    fiber, rank = np.divmod(kept, k)
    coords, shape = list(unraveled(own.numbers[fiber], outer)), list(outer)
    coords.insert(axis, rank)
    shape.insert(axis, k)
    values = top[fiber, rank]
    tops = sorted_tensor(tuple(shape), coords, values, own.fill, of=of, in_order=axis == len(outer))
    parts = []
    for c in range(k):
        other = at[:, c] != c
        apart, place = own.numbers[other], at[other, c]
        between = np.append(0, apart + 1), np.append(apart, count)  # where the place is c
        starts, stops = np.concatenate([between[0], apart]), np.concatenate([between[1], apart + 1])
        values = np.concatenate([np.full(len(apart) + 1, c), place])
        (there,) = ((starts < stops) & (values != 0)).nonzero()
        order = there[starts[there].argsort(kind="stable")]
        parts.append([np.full(len(order), c), starts[order], stops[order], values[order]])
    row, starts, stops, values = [np.concatenate(x) for x in zip(*parts, strict=True)]
    runs = Runs((k, count), [row], starts, stops, values, np.intp(0))
    others = [n for n in range(len(shape)) if n != axis]
    return tops, as_seen(reshaped(runs, (k, *outer)), [axis, *others])


__all__ = ["MOST", "in_all", "inserted", "where_stored"]
