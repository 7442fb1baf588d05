"""Fair timing: contenders alternate within one process, and the minimum of many runs counts.

Times are the process's, of all its threads: what else the machine does is left out, and who starts
more threads is charged with all of them. A turn of a contender begins with an untimed call: else
who shares its inputs with the contender before finds them in the caches, and the next one does not.
It goes on for some milliseconds, of which the best sample counts: a large cache takes more than one
call to fill, and so do the tables by which branches are foreseen.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs

SINGLE_THREADED = dict.fromkeys(
    ("FINCH_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
GRAIN = 3e-4
"""Seconds of a sample: so many calls that reading the clock does not count."""
TURN = 6e-3
"""Seconds of the samples of one turn."""
SLOW = 1.0
"""What takes longer than these seconds is timed once."""


def single_thread() -> None:
    """Keep libraries that are still to be loaded to one thread."""
    os.environ.update(SINGLE_THREADED)


@attrs.frozen
class Timing:
    """The least seconds of one call, and how many calls were timed."""

    seconds: float
    calls: int


@attrs.define
class _Contender:
    run: Callable[[], Any]
    inner: int
    """Calls of a sample."""
    samples: int
    """Samples of a turn."""
    best: float
    left: float
    turns: int
    """How many are to be taken at least."""
    calls: int = 0

    @property
    def done(self) -> bool:
        return self.left <= 0 and self.turns <= 0

    def turn(self) -> None:
        start = time.process_time()
        self.run()
        for _once in range(self.samples):
            took = _sample(self.run, self.inner)
            if took > 0:  # the clock of a virtual machine may stand still
                self.best = min(self.best, took)
        self.calls += self.inner * self.samples
        self.left -= time.process_time() - start
        self.turns -= 1


def compare(
    contenders: Mapping[str, Callable[[], Any]], budget: float = 1.0, at_least: int = 10
) -> dict[str, Timing]:
    """The minimum time of each contender, in rounds of one turn each, for about ``budget`` s.

    All have the same time, so that a slow one does not take the samples of the others: who has
    used its part up sits out, but for ``at_least`` turns (none, if a call takes a second).
    """
    part = budget / max(1, len(contenders))
    racing = {name: _prepared(run, part, at_least) for name, run in contenders.items()}
    while any(not contender.done for contender in racing.values()):
        for contender in racing.values():
            if not contender.done:
                contender.turn()
    return {name: Timing(contender.best, contender.calls) for name, contender in racing.items()}


def _prepared(run: Callable[[], Any], part: float, at_least: int) -> _Contender:
    run()
    once = max(_sample(run, 1), 1e-9)
    inner = max(1, min(1000, math.ceil(GRAIN / once)))
    samples = max(1, min(100, int(TURN / (once * inner))))
    if once > SLOW:
        return _Contender(run, 1, 1, once, 0.0, 0, calls=1)
    return _Contender(run, inner, samples, math.inf, part, at_least)


def _sample(function: Callable[[], Any], calls: int) -> float:
    start = time.process_time()
    for _call in range(calls):
        function()
    return (time.process_time() - start) / calls


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as aligned columns, empty where a row lacks one; numbers to four digits."""
    if not rows:
        return "(nothing)"
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names, *([_cell(row.get(name, "")) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
