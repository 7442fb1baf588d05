"""What appending costs: nanoseconds an entry, from a thousand entries to ten million.

Growth is amortised where the figure stays the same: the slope is that of the time on log axes.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from finch_core import Tensor, _, kernel
from finch_core.level import Format
from finch_core.plugins import hub
from finch_levels import Dense, Element

SIZES = tuple(10**k for k in range(3, 8))


@kernel
def appended(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]
    return y


def run(sizes: tuple[int, ...] = SIZES, repeats: int = 3) -> list[dict[str, Any]]:
    """One row for each level format that can hold a vector of different values."""
    formats = [f for f in hub().levels.values() if not f.is_leaf]
    return [_row(f.name, f(Element(0.0)), sizes, repeats) for f in formats if _takes(f)]


def _takes(format: Any) -> bool:
    """Whether a vector of two different values fits."""
    try:
        return bool((Tensor(format(Element(0.0)), [1.0, 2.0]).to_numpy() == [1.0, 2.0]).all())
    except (TypeError, ValueError):
        return False


def _row(name: str, format: Format, sizes: tuple[int, ...], repeats: int) -> dict[str, Any]:
    seconds = [_seconds(format, size, repeats) for size in sizes]
    row: dict[str, Any] = {"format": name}
    for size, least in zip(sizes, seconds, strict=True):
        row[f"{size:,} (ns each)"] = least / size * 1e9
    row["slope"] = math.log(seconds[-1] / seconds[1]) / math.log(sizes[-1] / sizes[1])
    return row


def _seconds(format: Format, size: int, repeats: int) -> float:
    """The least time to write ``size`` entries into a new tensor, which has to grow."""
    x = Tensor(Dense(Element(0.0)), np.arange(1.0, size + 1))
    appended(Tensor(format), x)
    least = math.inf
    for _repeat in range(repeats):
        y = Tensor(format)
        start = time.perf_counter()
        appended(y, x)
        least = min(least, time.perf_counter() - start)
    return least
