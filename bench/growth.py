"""What appending costs: nanoseconds an entry, from a thousand entries to ten million.

Growth is amortised where the figure stays the same: the slope is that of the time on log axes,
beside that of two arrays that are appended to by hand. What both pay is the memory: beyond the
caches an entry costs more than within, and so do the system's pages.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.hand import KERNEL_FLAGS, library, pointer
from finch_core import Tensor, _, kernel
from finch_core.level import Format
from finch_core.plugins import hub
from finch_levels import Dense, Element

SIZES = tuple(10**k for k in range(3, 8))
Writer = Callable[[Any], Callable[[], Any]]
"""For a vector: what writes it into new memory."""


@kernel
def appended(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]
    return y


def run(sizes: tuple[int, ...] = SIZES, repeats: int = 5) -> list[dict[str, Any]]:
    """A row for each level format that can hold a vector of different values, and one by hand."""
    formats = [f for f in hub().levels.values() if not f.is_leaf and _takes(f)]
    writers = {f.name: _appender(f(Element(0.0))) for f in formats} | {"by hand": _by_hand()}
    return [_row(name, writer, sizes, repeats) for name, writer in writers.items()]


def _takes(format: Any) -> bool:
    """Whether a vector of two different values fits."""
    try:
        return bool((Tensor(format(Element(0.0)), [1.0, 2.0]).to_numpy() == [1.0, 2.0]).all())
    except (TypeError, ValueError):
        return False


def _appender(format: Format) -> Writer:
    """Writes into a new tensor, which has to grow."""

    def prepared(x: Any) -> Callable[[], Any]:
        y = Tensor(format)
        return lambda: appended(y, x)

    return prepared


def _by_hand() -> Writer:
    """Appends by the loop of ``bench/hand/loops.c``, and gives the memory back at once."""
    ffi, loops = library("loops", KERNEL_FLAGS)
    return lambda x: lambda: loops.appended(pointer(ffi, x.buffers["1_val"]), x.shape[0])


def _row(name: str, writer: Writer, sizes: tuple[int, ...], repeats: int) -> dict[str, Any]:
    seconds = [_seconds(writer, size, repeats) for size in sizes]
    row: dict[str, Any] = {"format": name}
    for size, least in zip(sizes, seconds, strict=True):
        row[f"{size:,} (ns each)"] = least / size * 1e9
    row["slope"] = math.log(seconds[-1] / seconds[1]) / math.log(sizes[-1] / sizes[1])
    return row


def _seconds(writer: Writer, size: int, repeats: int) -> float:
    """The least time of the process to write ``size`` entries into new memory."""
    x = Tensor(Dense(Element(0.0)), np.arange(1.0, size + 1))
    writer(x)()
    least = math.inf
    for _repeat in range(max(repeats, min(100, 100_000 // size))):
        write = writer(x)
        start = time.process_time()
        write()
        least = min(least, time.process_time() - start)
    return least
