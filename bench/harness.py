"""Fair timing: contenders alternate within one process, and the minimum of many runs counts."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs

SINGLE_THREADED = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def single_thread() -> None:
    """Keep libraries that are still to be loaded to one thread."""
    os.environ.update(SINGLE_THREADED)


@attrs.frozen
class Timing:
    """The least seconds of one call, and how many calls were timed."""

    seconds: float
    calls: int


def compare(
    contenders: Mapping[str, Callable[[], Any]], budget: float = 1.0, at_least: int = 10
) -> dict[str, Timing]:
    """The minimum time of each contender, in rounds of one sample each, for about ``budget`` s.

    A sample is as many calls as take 100 us, so that the clock's grain does not count.
    """
    inner = {name: _repeats(function) for name, function in contenders.items()}
    best = dict.fromkeys(contenders, math.inf)
    calls, end = dict.fromkeys(contenders, 0), time.perf_counter() + budget
    rounds = 0
    while rounds < at_least or time.perf_counter() < end:
        for name, function in contenders.items():
            best[name] = min(best[name], _sample(function, inner[name]))
            calls[name] += inner[name]
        rounds += 1
    return {name: Timing(best[name], calls[name]) for name in contenders}


def _repeats(function: Callable[[], Any]) -> int:
    function()
    once = _sample(function, 1)
    return max(1, min(1000, math.ceil(1e-4 / max(once, 1e-9))))


def _sample(function: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _call in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as aligned columns; numbers to four digits."""
    if not rows:
        return "(nothing)"
    cells = [list(rows[0]), *([_cell(v) for v in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
