"""Statistics of tensors, from what they store: remembered as long as a tensor does not change.

Of each dimension: how many indices store something, the greatest number of entries at one index,
and the number of entries at each. The sizes of joins of two tensors follow from the last exactly.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np

from finch_array.operands import NUMBERS, is_dense, stored
from finch_array.run import coordinates
from finch_core.records import frozen
from finch_core.runtime.tensor import Tensor
from finch_levels import Dense, SparseList

COUNTED = 1 << 24
"""Entries of dimensions of more indices are not counted index by index."""


@frozen(eq=False)
class Statistics:
    """What an array stores: ``entries``; by dimension, the indices that store something
    (``distinct``), the greatest number of entries at one (``degrees``), and the entries at each
    (``counts``, None where they are not counted). ``full``: every element is stored."""

    shape: tuple[int, ...]
    entries: float
    distinct: tuple[float, ...]
    degrees: tuple[float, ...]
    counts: tuple[Any, ...]
    full: bool

    @property
    def magnitude(self) -> tuple[int, ...]:
        """The numbers as powers of 4: plans are remembered by it."""
        return tuple(_power(x) for x in (self.entries, *self.distinct, *self.degrees))


def _power(x: float) -> int:
    return int(x).bit_length() // 2


def full(shape: tuple[int, ...]) -> Statistics:
    """The statistics of an array that stores every element."""
    total = float(math.prod(shape))
    degrees = tuple(total / n if n else 0.0 for n in shape)
    return Statistics(shape, total, tuple(map(float, shape)), degrees, (None,) * len(shape), True)


_full: dict[tuple[int, ...], Statistics] = {}
_known: dict[int, tuple[Any, object, int, Statistics]] = {}


def statistics(array: Any) -> Statistics:
    """The statistics of an operand; counted at the first time."""
    if isinstance(array, NUMBERS):
        return full(())
    found = stored(array)
    made = _of_source(found.source)
    if found.source is array:
        return made
    places = [found.axes.index(k) for k in range(array.ndim)]
    return Statistics(
        array.shape, made.entries, tuple(made.distinct[p] for p in places),
        tuple(made.degrees[p] for p in places), tuple(made.counts[p] for p in places), made.full,
    )  # fmt: skip


def _of_source(source: Any) -> Statistics:
    if is_dense(source) or not source.ndim:
        shape = source.shape
        return _full.get(shape) or _full.setdefault(shape, full(shape))
    if not isinstance(source, Tensor):
        return _counted(source)
    key, state, entries = id(source), source.state, source.nstored
    known = _known.get(key)
    if known is not None and known[1] is state and known[2] == entries:
        return known[3]
    found = _counted(source)
    there = weakref.ref(source, lambda _: _known.pop(key, None))
    _known[key] = there, state, entries, found
    return found


def _counted(source: Any) -> Statistics:
    found = _counts_of_lists(source)
    if found is not None:
        shape, (entries, counts) = source.shape, found
    else:
        shape, coords, values = coordinates(source)
        entries = float(len(values))
        counts = [_counts(c, n) for c, n in zip(coords, shape, strict=True)]
    distinct = tuple(
        float(np.count_nonzero(c)) if c is not None else min(entries, float(n))
        for c, n in zip(counts, shape, strict=True)
    )
    degrees = tuple(
        (float(c.max()) if c.size else 0.0) if c is not None else entries for c in counts
    )
    return Statistics(tuple(shape), entries, distinct, degrees, tuple(counts), False)


def _counts(coords: Any, n: int, weights: Any = None) -> Any:
    """How many entries each index has; ``weights``: how many each of ``coords`` stands for."""
    if n > COUNTED:
        return None
    return np.bincount(coords, weights, minlength=n).astype(np.float64, copy=False)


def _counts_of_lists(source: Any) -> tuple[float, list[Any]] | None:
    """The number of entries, and the entries at each index by dimension, of a tensor of dense
    levels around sorted lists, from its pointers and indices; None for other formats."""
    if not isinstance(source, Tensor):
        return None
    levels = source.layout.levels[:-1]
    dense = next((k for k, level in enumerate(levels) if type(level) is not Dense), len(levels))
    if dense == len(levels) or any(type(level) is not SparseList for level in levels[dense:]):
        return None
    buffers = source.named_arrays()
    lists = [(buffers[f"{k}_ptr"], buffers[f"{k}_idx"]) for k in range(dense, len(levels))]
    shape: tuple[int, ...] = source.shape
    counts: list[Any] = []
    leaves: Any = None  # where the leaves below each position begin
    for (ends, idx), n in zip(lists[::-1], shape[dense:][::-1], strict=True):
        weights = None if leaves is None else leaves[1:] - leaves[:-1]
        counts.append(_counts(idx, n, weights))
        leaves = ends if leaves is None else leaves[ends]
    under = (leaves[1:] - leaves[:-1]).astype(np.float64).reshape(shape[:dense])
    for k in reversed(range(dense)):
        others = tuple(j for j in range(dense) if j != k)
        counts.append((under.sum(others) if others else under) if shape[k] <= COUNTED else None)
    return float(leaves[-1] - leaves[0]), counts[::-1]


__all__ = ["Statistics", "full", "statistics"]
