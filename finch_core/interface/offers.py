"""What level formats say of data that they could store, by which ``choose_format`` chooses.

Times are nanoseconds of a core of about 3 GHz; only their ratios matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_core.records import field, frozen


@frozen
class Fibers:
    """Statistics of the fibers that one level would store.

    ``positions`` is the number of fibers, with the empty ones that the level above stores, and
    ``shape`` their dimension. Of what is stored: ``filled`` fibers, ``stored`` subfibers in all,
    the ``longest`` fiber; ``blocks`` of adjacent indices; ``spans``, the indices from the first to
    the last of each fiber, summed. ``entries`` are the values below.
    """

    positions: int
    shape: int
    filled: int
    stored: int
    longest: int
    blocks: int
    spans: int
    entries: int
    runs: int | None = None
    """Stretches of adjacent equal values; None above other levels."""
    most_runs: int | None = None
    """The most of them in one fiber."""
    diagonals: int | None = None
    """How many differences of index and position there are; None below sparse levels."""
    crossed: int = 0
    """How many positions all of these diagonals cross."""
    changes: int = 0
    """How many fibers are longer or shorter than the one before: ends of loops over them are not
    foreseen."""
    variation: float = 0.0
    """The standard deviation of their lengths over the mean."""
    depth: int = 1
    """The number of levels from this one on."""
    index: np.dtype[Any] = field(default=np.dtype(np.intp), converter=np.dtype)
    """The narrowest dtype of indices and pointers that fits."""

    @property
    def mean(self) -> float:
        """Stored subfibers of a fiber that has some."""
        return self.stored / max(1, self.filled)

    @property
    def surprise(self) -> float:
        """Time for ends of loops that are not foreseen; of few fibers, they are remembered: of some
        16,000 on an AMD EPYC, of 10,000 on an Intel Xeon."""
        each = 1.0 if self.changes < 1 << 14 else 6.5
        return self.changes * (each if self.variation <= 1 else each + 2)

    def bytes(self, *counts: int) -> int:
        """The memory of so many indices and pointers."""
        return sum(counts) * self.index.itemsize

    def part(self, of: int) -> str:
        """The part of ``of`` indices that is stored, for people."""
        return f"{self.stored / max(1, of):.0%}"


@frozen
class Offer:
    """A level that could store fibers: what it takes to have and to read it."""

    make: Callable[[Any], Any]
    """The level over its child; over the leaf if it takes several dimensions (``depth``)."""
    why: str
    """The numbers that speak for it."""
    below: int
    """How many subfibers it has memory for."""
    bytes: int
    """Memory of the level itself."""
    work: float
    """Time to walk all fibers once, beside a dense vector."""
    lookup: float
    """Time to find one index of a fiber (``follow``)."""
    convert: float = 2.5
    """Time to write a stored subfiber."""
    depth: int = 1


__all__ = ["Fibers", "Offer"]
