"""Runs of equal elements as NumPy arrays: where each begins and ends along the last dimension. What
moves all elements in row-major order moves runs, however long they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_array import structures
from finch_array.operands import kinds_of, stored
from finch_array.run import is_short
from finch_core.interface.level import Format
from finch_core.interface.structure import Pieces
from finch_core.records import evolve, frozen
from finch_core.runtime.compressed import compressed_fields, fields_below_rows
from finch_core.runtime.tensor import Tensor, checked_shape
from finch_levels import Dense, SparseList, SparseRunList


@frozen(eq=False)
class Runs:
    """The runs of an array that are not its fill, in order: of indices from ``starts`` up to
    ``stops`` along the last dimension, at ``rows``, the indices of the other dimensions."""

    shape: tuple[int, ...]
    rows: Sequence[Any]
    starts: Any
    stops: Any
    values: Any
    fill: Any


def has_runs(array: Any) -> bool:
    """Whether the last dimension of an array is stored in runs, behind the others."""
    axes = stored(array).axes
    return axes == tuple(range(len(axes))) and kinds_of(array)[-1].pieces is Pieces.RUNS


def runs_of(array: Any) -> Runs:
    """The runs of an array that ``has_runs``."""
    made = Tensor(_format((False,) * (array.ndim - 1), array.fill_value, array.dtype), array)
    found = made.named_arrays()
    rows: list[Any] = []
    for k in range(array.ndim):
        counts = np.diff(found[f"{k}_ptr"])
        rows = [row.repeat(counts) for row in rows]
        if k < array.ndim - 1:
            rows.append(found[f"{k}_idx"])
    last = array.ndim - 1
    starts, stops = found[f"{last}_left"], found[f"{last}_right"] + 1
    return Runs(array.shape, rows, starts, stops, found[f"{last + 1}_val"], array.fill_value)


def reshaped(runs: Runs, shape: tuple[int, ...]) -> Tensor:
    """The elements of an array, in row-major order, in another shape."""
    width, new = runs.shape[-1], shape[-1]
    begins = np.zeros(len(runs.values), np.intp)
    if runs.rows:
        begins = np.ravel_multi_index(tuple(runs.rows), runs.shape[:-1]) * width
    starts, stops = begins + runs.starts, begins + runs.stops
    first = starts // max(new, 1)
    counts = (stops - 1) // max(new, 1) + 1 - first  # the rows that a run is part of
    row = first.repeat(counts) + _within(counts)
    starts = np.maximum(starts.repeat(counts) - row * new, 0)
    stops = np.minimum(stops.repeat(counts) - row * new, new)
    rows: Sequence[Any] = np.unravel_index(row, shape[:-1]) if len(shape) > 1 else ()
    return _tensor(Runs(shape, rows, starts, stops, runs.values.repeat(counts), runs.fill))


def stretched(runs: Runs, count: int) -> Tensor:
    """The elements, each as often along the last dimension."""
    *rows, last = runs.shape
    shape = checked_shape((*rows, last * count), len(runs.shape))
    kept = runs if count else evolve(
        runs, rows=[row[:0] for row in runs.rows], starts=runs.starts[:0], stops=runs.stops[:0],
        values=runs.values[:0],
    )  # fmt: skip
    starts, stops = kept.starts * count, kept.stops * count
    return _tensor(evolve(kept, shape=shape, starts=starts, stops=stops))


def _within(counts: Any) -> Any:
    """The numbers from 0 up to each of ``counts``, one after another."""
    ends = np.add.accumulate(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0) - (ends - counts).repeat(counts)


def _tensor(runs: Runs) -> Tensor:
    """An array that stores runs."""
    count, shape = len(runs.values), runs.shape
    new = np.zeros(count, bool)
    new[:1] = True
    for row in runs.rows:
        new[1:] |= row[1:] != row[:-1]
    (firsts,) = new.nonzero()
    rows = [row[firsts] for row in runs.rows]
    short = bool(rows) and is_short(shape[0], count)
    ends = np.append(firsts, count)
    if not rows:
        above, ends = [], np.array([0, count])
    elif not short:
        above = compressed_fields(rows, firsts)[:-1]
    elif len(rows) == 1:
        counts = np.bincount(runs.rows[0], minlength=shape[0])
        above, ends = [{}], np.append(0, np.add.accumulate(counts))
    else:
        above = [{}, *fields_below_rows(shape[0], rows, firsts)[:-1]]
    level = {"ptr": ends, "left": runs.starts, "right": runs.stops - 1}
    format = _format(
        (short, *(False,) * (len(rows) - 1))[: len(rows)], runs.fill, runs.values.dtype
    )
    made = Tensor.bare(format)
    made.set_fields(shape, [*above, level, {"val": runs.values}])
    return made


def _format(dense: Sequence[bool], fill: Any, dtype: Any) -> Format:
    format: Format = SparseRunList(structures.leaf_for(fill, dtype))
    for level in reversed(dense):
        format = Dense(format) if level else SparseList(format)
    return format


__all__ = ["Runs", "has_runs", "reshaped", "runs_of", "stretched"]
