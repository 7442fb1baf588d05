"""Fibers as rows of an array (``Format.from_rows``, ``Format.to_rows``): what is stored of them."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def are_same(a: Any, b: Any) -> Array:
    """Where elements of two arrays of one numeric dtype are bitwise equal, where any NaN equals any
    other: as ``looplets.routines.same_value`` compares in a kernel."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "c":
        return are_same(a.real, b.real) & are_same(a.imag, b.imag)
    equal: Array = a == b
    if a.dtype.kind == "f":
        equal &= np.signbit(a) == np.signbit(b)
        equal |= np.isnan(a) & np.isnan(b)
    return equal


def are_fills(array: Array, fill: Any) -> Array:
    """Where elements equal ``fill``, as NaNs do where it is one, of real numbers."""
    equal: Array = array == fill
    if array.dtype.kind == "f" and fill != fill:
        equal = np.isnan(array)
    return equal


def without_fills(array: Array, fill: Any) -> Array:
    """``array``, or a copy in which elements equal to ``fill`` have its bits: zeros of either
    sign, and NaNs."""
    if array.dtype.kind not in "fc":
        return array
    equal = are_fills(array, fill)
    return np.where(equal, array.dtype.type(fill), array) if equal.any() else array


def are_stored(rows: Array, fill: Any) -> Array:
    """Where a subfiber has an element other than ``fill``, of shape ``rows.shape[:2]``."""
    return ~_all_below(are_fills(rows, fill))


def begin_runs(rows: Array) -> Array:
    """Where a subfiber of ``rows`` differs from the one before it in its fiber, or is the first:
    of shape ``rows.shape[:2]``."""
    new = np.ones(rows.shape[:2], bool)
    new[:, 1:] = ~_all_below(are_same(rows[:, 1:], rows[:, :-1]))
    return new


def end_runs(begins: Array) -> Array:
    """Where runs that begin at ``begins`` have their last index."""
    ends = np.ones_like(begins)
    ends[:, :-1] = begins[:, 1:]
    return ends


def ends_of_fibers(stored: Array) -> Array:
    """Where the subfibers of each fiber end, that are counted in order: 0 first."""
    ends = np.zeros(len(stored) + 1, np.intp)
    np.add.accumulate(np.count_nonzero(stored, axis=1), out=ends[1:])
    return ends


def fibers_of(ends: Array, positions: int) -> Array:
    """The number of the fiber of each subfiber, of fibers that end where ``ends`` says, 0 first."""
    ends = ends[: positions + 1].astype(np.intp, copy=False)
    return np.arange(positions).repeat(ends[1:] - ends[:-1])


def _all_below(equal: Array) -> Array:
    if equal.ndim > 2:
        equal = np.logical_and.reduce(equal, axis=tuple(range(2, equal.ndim)))
    return equal


__all__ = [
    "are_fills",
    "are_same",
    "are_stored",
    "begin_runs",
    "end_runs",
    "ends_of_fibers",
    "fibers_of",
    "without_fills",
]
