"""Which format suits given data: measured, and explained by the numbers it was chosen by."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.level import Format
from finch_core.records import frozen
from finch_levels.dense import Dense
from finch_levels.element import Element
from finch_levels.run_list import RunList
from finch_levels.sparse_band import SparseBand
from finch_levels.sparse_block_list import SparseBlockList
from finch_levels.sparse_interval import SparseInterval
from finch_levels.sparse_list import SparseList
from finch_levels.sparse_pinpoint import SparsePinpoint
from finch_levels.sparse_run_list import SparseRunList

MOST_EMPTY = 0.25
"""The part of the fibers that must store something for a ``Dense`` level above them."""


@frozen
class Measures:
    """What there is to know of data along its last dimension, in fibers; a *block* is a range of
    adjacent stored elements, a *run* one of equal elements."""

    shape: tuple[int, ...]
    itemsize: int
    stored: int
    blocks: int
    runs: int
    all_runs: int
    """Runs, with those of the fill."""
    span: int
    """Elements from the first to the last stored one of each fiber."""
    most: int
    """The most stored elements of a fiber."""
    most_runs: int
    filled: tuple[float, ...]
    """For each dimension but the last: which part of its indices, below those that store
    something, store something."""

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def fibers(self) -> int:
        """The number of fibers along the last dimension."""
        return math.prod(self.shape[:-1])

    @property
    def density(self) -> float:
        """The part of all elements that is stored."""
        return self.stored / max(1, self.size)

    @property
    def filling(self) -> float:
        """The part that is stored of the elements from each fiber's first to its last."""
        return self.stored / max(1, self.span)

    @property
    def block_length(self) -> float:
        """Stored elements in a block."""
        return self.stored / max(1, self.blocks)

    @property
    def run_length(self) -> float:
        """Stored elements in a run."""
        return self.stored / max(1, self.runs)

    def bytes(self, index: int) -> dict[str, int]:
        """About how many bytes the last dimension takes in each format, with indices of ``index``
        bytes."""
        value, pointers = self.itemsize, (self.fibers + 1) * index
        found = {
            "Dense": self.size * value,
            "SparseList": self.stored * (value + index) + pointers,
            "SparseBlockList": self.stored * value + self.blocks * 2 * index + pointers,
            "SparseBand": self.span * value + self.fibers * index + pointers,
            "SparseRunList": self.runs * (value + 2 * index) + pointers,
            "RunList": self.all_runs * (value + index) + pointers,
        }
        if self.most <= 1:
            found["SparsePinpoint"] = self.fibers * (value + index)
        if self.most_runs <= 1:
            found["SparseInterval"] = self.fibers * (value + 2 * index)
        return found


@frozen
class FormatChoice:
    """A format for data, why this one, and what it was chosen by."""

    format: Any
    why: str
    measures: Measures
    bytes: dict[str, int]
    """About how many bytes the data takes in each format that was considered."""

    def __str__(self) -> str:
        m = self.measures
        rows = [
            f"{self.format!r}",
            f"  because {self.why}",
            f"  stored: {m.stored:,} of {m.size:,} ({m.density:.2%}), in blocks of "
            f"{m.block_length:.1f} and runs of {m.run_length:.1f}",
        ]
        by_size = sorted(self.bytes.items(), key=lambda row: row[1])
        rows.append("  bytes: " + ", ".join(f"{name} {size:,}" for name, size in by_size))
        return "\n".join(rows)


def choose_format(
    data: Any, *, leaf: Format | None = None, index: Any = np.intp, runs: bool = True
) -> FormatChoice:
    """The format that suits ``data``: a NumPy or SciPy array or a tensor, with a dimension or more.

    ``leaf``: that of the format (None: an ``Element`` with the fill and the dtype of the data).
    ``index``: the dtype of indices and pointers. ``runs``: whether levels for runs of equal values
    are considered: they pay where all operands of a loop have them, or are constant. ``print``
    shows the choice with its numbers. It is for reading row by row, and its rules (but those of
    runs) were measured on products of matrices and vectors, ``docs/results.md``.

    Raises ``FormatError`` for a scalar, and for data that is no tensor.
    """
    measures = measure(data)
    leaf = _leaf(data) if leaf is None else leaf
    kind, why = _level(measures, runs)
    width = np.dtype(index)
    format = _of(kind, leaf, width)
    for filled in reversed(measures.filled):
        outer = Dense if filled >= MOST_EMPTY else SparseList
        format = _of(outer, format, width)
    return FormatChoice(format, why, measures, measures.bytes(width.itemsize))


def _of(kind: Any, child: Format, width: np.dtype[Any]) -> Any:
    """A level of a kind, with indices and pointers of a width where it has them."""
    if kind is Dense:
        return Dense(child)
    if kind in (SparsePinpoint, SparseInterval):
        return kind(child, index=width)
    return kind(child, index=width, pointer=width)


def _level(m: Measures, runs: bool) -> tuple[Any, str]:
    if m.most <= 1 and m.stored:
        return SparsePinpoint, "there is at most one element in a fiber: no loop within it"
    if m.most_runs <= 1 and m.stored and runs:
        return SparseInterval, "there is one run of equal elements in a fiber: a value, two ends"
    if runs and m.size >= 8 * m.all_runs and m.density > 0.25:
        length = m.size / max(1, m.all_runs)
        return RunList, f"{length:.1f} adjacent elements are equal: one value a run"
    if runs and m.run_length >= 8:
        why = f"{m.run_length:.1f} adjacent stored elements are equal: one value a run"
        return SparseRunList, why
    if m.density > 0.7:
        return Dense, f"{m.density:.0%} is stored: coordinates would cost more than zeros"
    if m.filling > 0.8 and m.block_length >= 3:
        return SparseBand, f"{m.filling:.0%} of each fiber's stretch is stored: one block a fiber"
    if m.block_length >= 4:
        return SparseBlockList, f"{m.block_length:.1f} adjacent elements make a block"
    return SparseList, f"{m.block_length:.1f} adjacent elements make a block: a plain list"


# -- measuring ----------------------------------------------------------------------------------


def measure(data: Any) -> Measures:
    """The measures of data, in time about linear in what it stores."""
    from finch_core import asarray
    from finch_core.runtime.convert import to_coordinates

    source = asarray(data)
    if not getattr(source, "ndim", 0):
        raise FormatError("a scalar has no levels to choose", hint="Scalar(0.0)")
    shape, coords, values = to_coordinates(source)
    places = _places(shape, coords)
    order = np.argsort(places, kind="stable") if (np.diff(places) < 0).any() else slice(None)
    values, places = np.asarray(values)[order], places[order]
    fibers, last = np.divmod(places, max(1, shape[-1]))
    return _measured(shape, fibers, last, values, source.dtype.itemsize)


def _places(shape: tuple[int, ...], coords: list[Any]) -> Any:
    place = np.asarray(coords[0], np.int64)
    for coord, n in zip(coords[1:], shape[1:], strict=True):
        place = place * n + coord
    return place


def _measured(
    shape: tuple[int, ...], fibers: Any, last: Any, values: Any, itemsize: int
) -> Measures:
    new = np.ones(len(last), bool)
    new[1:] = np.diff(fibers) != 0
    starts = new.copy()
    starts[1:] |= np.diff(last) != 1
    changes = starts.copy()
    changes[1:] |= values[1:] != values[:-1]
    heads = np.flatnonzero(new)
    ends = np.append(heads[1:], len(last)) - 1
    runs = np.add.reduceat(changes, heads) if len(heads) else np.zeros(1, int)
    return Measures(
        shape=tuple(int(n) for n in shape),
        itemsize=itemsize,
        stored=len(last),
        blocks=int(np.count_nonzero(starts)),
        runs=int(np.count_nonzero(changes)),
        all_runs=int(np.count_nonzero(changes)) + _gaps(shape, last, starts, heads, ends),
        span=int((last[ends] - last[heads] + 1).sum()) if len(heads) else 0,
        most=int(np.diff(np.append(heads, len(last))).max(initial=0)),
        most_runs=int(runs.max()),
        filled=tuple(_filled(shape, fibers[heads])),
    )


def _gaps(shape: tuple[int, ...], last: Any, starts: Any, heads: Any, ends: Any) -> int:
    """The number of ranges of the fill."""
    empty = math.prod(shape[:-1]) - len(heads)
    if not len(heads):
        return empty
    between = int(np.count_nonzero(starts)) - len(heads)
    before = int(np.count_nonzero(last[heads] > 0))
    after = int(np.count_nonzero(last[ends] < shape[-1] - 1))
    return empty + between + before + after


def _filled(shape: tuple[int, ...], fibers: Any) -> Iterator[float]:
    """For each dimension but the last, the part of its indices that store something."""
    below, count = 1, 1
    for k in range(len(shape) - 1):
        below = math.prod(shape[k + 1 : -1])
        here = len(np.unique(fibers // max(1, below)))
        yield here / max(1, count * shape[k]) if here else 1.0
        count = here


def _leaf(data: Any) -> Format:
    from finch_core import asarray

    source = asarray(data)
    return Element(source.fill_value, source.dtype)


__all__ = ["FormatChoice", "Measures", "choose_format"]
