"""Coordinates of a matrix sorted by counting, in time that is linear in their number and in the
dimensions: functions that kernels are made of, and what runs these."""

# the parameters of kernels are of any dtype
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from finch_core.frontend.functions import _

Array = np.ndarray[Any, np.dtype[Any]]
Rows = tuple[Array, Array, Array]


def _count(ends, keys):
    for p in _:
        ends[keys[p] + 1] += 1


def _by_columns(starts, places, pointers, rows, columns, values, rows_out, values_out):
    """Entries in the order of their columns, where each column and each row begins in this order
    and in that of rows; ``places`` are where the next of each column goes."""
    for p in _:
        starts[columns[p] + 1] += 1
        pointers[rows[p] + 1] += 1
    for j in range(len(places)):
        starts[j + 1] += starts[j]
        places[j] = starts[j]
    for i in range(len(pointers) - 1):
        pointers[i + 1] += pointers[i]
    for p in _:
        q = places[columns[p]]
        rows_out[q] = rows[p]
        values_out[q] = values[p]
        places[columns[p]] = q + 1


def _by_rows(found, places, pointers, starts, rows, values, columns_out, values_out):
    """Entries in the order of their rows, from those in the order of their columns; ``found`` is
    how many have the column of the one before them in their row."""
    for i in range(len(places)):
        places[i] = pointers[i]
    for j in range(len(starts) - 1):
        for p in range(starts[j], starts[j + 1]):
            q = places[rows[p]]
            columns_out[q] = j
            values_out[q] = values[p]
            places[rows[p]] = q + 1
    found[()] = 0
    for i in range(len(pointers) - 1):
        for p in range(pointers[i] + 1, pointers[i + 1]):
            found[()] += columns_out[p] == columns_out[p - 1]


def _transpose(starts, places, pointers, columns, values, rows_out, values_out):
    """The entries of a matrix in rows, in the order of its columns, and where each begins."""
    for p in _:
        starts[columns[p] + 1] += 1
    for j in range(len(places)):
        starts[j + 1] += starts[j]
        places[j] = starts[j]
    for i in range(len(pointers) - 1):
        for p in range(pointers[i], pointers[i + 1]):
            q = places[columns[p]]
            rows_out[q] = i
            values_out[q] = values[p]
            places[columns[p]] = q + 1


def _first_order(places, keys, order):
    """The order of ``keys``; ``places`` are where the next of each key goes."""
    for p in _:
        q = places[keys[p]]
        order[q] = p
        places[keys[p]] = q + 1


def _next_order(places, keys, before, order):
    """The order ``before`` of coordinates, sorted by ``keys``."""
    for p in _:
        q = places[keys[before[p]]]
        order[q] = before[p]
        places[keys[before[p]]] = q + 1


def _merge(pointers, columns, values):
    """Add each entry that has the column of the one before it to that, in place."""
    q = 0
    start = pointers[0]
    for i in range(len(pointers) - 1):
        first = q
        for p in range(start, pointers[i + 1]):
            same = False
            if q > first:
                same = columns[q - 1] == columns[p]
            if same:
                values[q - 1] += values[p]
            else:
                columns[q] = columns[p]
                values[q] = values[p]
                q += 1
        start = pointers[i + 1]
        pointers[i + 1] = q


Compiled = Callable[[Any], Any]
"""Gives the kernel of a function."""


def _starts(compiled: Compiled, keys: Array, count: int) -> Array:
    """Where the entries of each key start when they are sorted, and where the last ones end."""
    ends = np.zeros(count + 1, np.intp)
    compiled(_count)(ends, keys)
    return np.cumsum(ends, out=ends)


def counted_order(shape: Sequence[int], coords: Sequence[Array], compiled: Compiled) -> Array:
    """The permutation that sorts coordinates, equal ones in their order: the last dimension first,
    each in time that is linear in its length and in their number."""
    order: Any = None
    for keys, n in zip(coords[::-1], shape[::-1], strict=True):
        places, before = _starts(compiled, keys, n)[:-1].copy(), order
        order = np.empty(len(keys), np.intp)
        if before is None:
            compiled(_first_order)(places, keys, order)
        else:
            compiled(_next_order)(places, keys, before, order)
    return np.arange(0) if order is None else order


def transposed_rows(
    pointers: Array, indices: Array, values: Array, count: int, compiled: Compiled
) -> Rows:
    """Where each of ``count`` columns begins, of a matrix in rows that begin at ``pointers``, and
    the rows, of the dtype of ``indices``, and values of their entries in order. ``compiled`` gives
    the kernel of a function of this module."""
    starts, places = np.zeros(count + 1, np.intp), np.empty(count, np.intp)
    rows, found = np.empty_like(indices), np.empty_like(values)
    compiled(_transpose)(starts, places, pointers, indices, values, rows, found)
    return starts, rows, found


def sorted_rows(
    shape: tuple[int, ...], parts: list[Array], add: Callable[..., Rows], compiled: Compiled
) -> Rows:
    """The entries of a matrix sorted by rows, then columns, with duplicates added: the position
    where each row begins, the columns and the values.

    ``parts`` are the rows, the columns and the values; the list is emptied, so that their memory
    can be used again. ``add`` takes the result where integers have duplicates, and adds them, with
    a check; ``compiled`` gives the kernel of a function of this module.
    """
    narrow = np.int32 if max(shape) <= np.iinfo(np.int32).max else np.intp
    values = parts.pop()
    columns = parts.pop().astype(narrow, copy=False)
    rows = parts.pop().astype(narrow, copy=False)
    pointers, starts = [np.zeros(n + 1, np.intp) for n in shape]
    places, rows_out, between = (
        np.empty(shape[1], np.intp),
        np.empty_like(rows),
        np.empty_like(values),
    )
    compiled(_by_columns)(starts, places, pointers, rows, columns, values, rows_out, between)
    del rows, columns, values
    columns_out, values_out = np.empty(len(rows_out), np.intp), np.empty_like(between)
    places, repeated = np.empty(shape[0], np.intp), np.zeros((), np.int64)
    compiled(_by_rows)(
        repeated, places, pointers, starts, rows_out, between, columns_out, values_out
    )
    if not repeated:
        return pointers, columns_out, values_out
    if values_out.dtype.kind not in "fc":
        return add(pointers, columns_out, values_out)
    compiled(_merge)(pointers, columns_out, values_out)
    return pointers, columns_out[: pointers[-1]], values_out[: pointers[-1]]
