"""Statistics of a pattern: for each level, what its fibers would store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.level import Format
from finch_core.interface.offers import Fibers
from finch_core.records import evolve, field, frozen
from finch_core.runtime.convert import asarray, check_range, stored_coordinates
from finch_core.runtime.tensor import Tensor

Array = np.ndarray[Any, Any]


@frozen
class Entries:
    """What a tensor stores: one array of indices for each dimension, sorted by the first, then the
    next, without duplicates; and the values."""

    shape: tuple[int, ...]
    coords: tuple[Array, ...]
    values: Array
    index: np.dtype[Any] = field()
    """The dtype of indices: the narrowest of int32 and int64 that fits, if it is not given."""

    @index.default
    def _narrowest(self) -> np.dtype[Any]:
        largest = max(len(self.values), *self.shape, 1)
        return np.dtype(np.int32 if largest < 2**31 else np.int64)

    def upper(self) -> Entries:
        """The entries of a matrix above its diagonal."""
        kept = self.coords[0] < self.coords[1]
        return evolve(self, coords=tuple(c[kept] for c in self.coords), values=self.values[kept])

    def is_symmetric(self) -> bool:
        """Whether this is a matrix that equals its transpose."""
        if len(self.shape) != 2 or self.shape[0] != self.shape[1]:
            return False
        rows, columns = self.coords
        if not np.array_equal(np.bincount(rows), np.bincount(columns)):
            return False
        order = np.lexsort((rows, columns))
        same = (columns[order] == rows).all() and (rows[order] == columns).all()
        return bool(same and (self.values[order] == self.values).all())


def statistics(entries: Entries) -> tuple[Fibers, ...]:
    """The statistics of each level, outermost first, where each level above stores just what is not
    empty; ``positions`` and ``diagonals`` are for a level below others that store everything."""
    found, new, positions = list[Fibers](), np.zeros(len(entries.values), bool), 1
    new[:1] = True
    place = np.zeros(len(entries.values), np.intp)
    for k, index in enumerate(entries.coords):
        first = new.copy()  # the entries that begin a fiber of this level
        new[1:] |= np.diff(index) != 0
        found.append(_level(entries, k, first, new, place, positions))
        place, positions = place * entries.shape[k] + index, positions * entries.shape[k]
    return tuple(found)


def _level(
    entries: Entries, k: int, first: Array, new: Array, place: Array, positions: int
) -> Fibers:
    at = np.flatnonzero(new)
    index, starts = entries.coords[k][at], np.flatnonzero(first[at])
    ends = np.append(starts[1:], len(at))
    lengths = ends - starts
    blocks = first[at].copy()
    blocks[1:] |= np.diff(index) != 1
    last = k == len(entries.shape) - 1
    runs = _runs(entries.values[at], blocks) if last else None
    diagonals, crossed = None, 0
    if k:
        diagonals, crossed = _diagonals(index, place[at], entries.shape[k], positions)
    return Fibers(
        positions=positions,
        shape=entries.shape[k],
        filled=len(starts),
        stored=len(at),
        longest=int(lengths.max(initial=0)),
        blocks=int(np.count_nonzero(blocks)),
        spans=int((index[ends - 1] - index[starts] + 1).sum()) if len(starts) else 0,
        entries=len(entries.values),
        runs=None if runs is None else int(np.count_nonzero(runs)),
        most_runs=None if runs is None else _most(runs, starts),
        diagonals=diagonals,
        crossed=crossed,
        changes=int(np.count_nonzero(np.diff(lengths))),
        variation=float(lengths.std() / lengths.mean()) if len(lengths) else 0.0,
        depth=len(entries.shape) - k,
        index=entries.index,
    )


def _runs(values: Array, blocks: Array) -> Array:
    """The entries that begin a run of adjacent equal values."""
    found = blocks.copy()
    found[1:] |= values[1:] != values[:-1]
    return found


def _most(runs: Array, starts: Array) -> int:
    return int(np.add.reduceat(runs, starts, dtype=np.intp).max()) if len(starts) else 0


def _diagonals(index: Array, place: Array, shape: int, positions: int) -> tuple[int, int]:
    """How many different values ``index - place`` has, and how many places all of them leave within
    the dimension."""
    if not len(index):
        return 0, positions
    if positions + shape > 4 * len(index) + (1 << 20):
        found = np.unique(index - place)
    else:
        met = np.zeros(positions + shape, bool)
        met[index - place + (positions - 1)] = True
        found = np.flatnonzero(met) - (positions - 1)
    first, behind = max(0, -int(found[0])), min(positions, shape - int(found[-1]))
    return len(found), max(0, behind - first)


def entries_of(data: Any, shape: Sequence[int] | None, index: Any) -> tuple[Entries, Format | None]:
    """What is stored, and the format in which it is. Raises ``FormatError`` without dimensions, and
    for coordinates outside of the shape."""
    if isinstance(data, tuple):
        values, coords = np.asarray(data[0]), tuple(map(np.asarray, data[1]))
        size = shape or tuple(int(c.max(initial=-1)) + 1 for c in coords)
        check_range(tuple(size), coords)
        format = None
    else:
        tensor = asarray(data)
        format = tensor.format if isinstance(tensor, Tensor) else None
        size, listed, values = stored_coordinates(tensor)
        coords = tuple(listed)
    if not len(size):
        raise FormatError("a scalar has no levels to choose", hint="Scalar, or the leaf alone")
    entries = _sorted(tuple(size), coords, values)
    return entries if index is None else evolve(entries, index=np.dtype(index)), format


def _sorted(shape: tuple[int, ...], coords: tuple[Any, ...], values: Any) -> Entries:
    """The entries in order, of duplicates the first."""
    before = np.zeros(max(0, len(values) - 1), bool)
    same = ~before
    for index in coords:
        before |= same & (index[1:] < index[:-1])
        same &= index[1:] == index[:-1]
    if (before | same).any():
        order = np.lexsort(coords[::-1])
        coords, values = tuple(c[order] for c in coords), values[order]
        new = np.ones(len(values), bool)
        new[1:] = np.any([np.diff(c) != 0 for c in coords], axis=0)
        coords, values = tuple(c[new] for c in coords), values[new]
    return Entries(shape, coords, values)


__all__ = ["Entries", "entries_of", "statistics"]
