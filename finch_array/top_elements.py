"""The greatest or least elements of fibers, found by insertion: a kernel."""

# the parameters of kernels are of any dtype
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

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
    *outer, length = own.shape
    count, dtype = math.prod(outer), own.values.dtype
    top = np.full((count, k), own.fill, dtype)
    at = np.arange(k)[None, :].repeat(count, 0)
    if k:
        kernel_of(_insert_top)(
            top, at, own.numbers, own.starts, own.counts, own.places, own.values, length,
            dtype.type(own.fill), k, greatest,
        )  # fmt: skip
    return top.reshape(*outer, k), at.reshape(*outer, k)


__all__ = ["MOST", "inserted"]
