"""The number of threads on which parallel loops run: what was asked for, and no more than cores.

More threads than cores take turns on these, and wait for each other: a loop whose parts are joined
took up to three times as long. Results do not depend on the number, so that nothing else is lost.
"""

from __future__ import annotations

import operator
import os
from contextlib import suppress
from typing import Any

import numpy as np

from finch_core.errors import BackendError

VARIABLE = "FINCH_THREADS"
COMMON = "OMP_NUM_THREADS"
"""What dask and joblib set in the processes that they start, so that these do not take more cores
together than there are."""
BEYOND = "FINCH_OVERSUBSCRIBE"
"""Set to 1, loops run on as many threads as are asked for: for tests on machines of few cores."""
MOST = 64
"""The largest number of threads that one loop uses."""

_count = np.zeros(2, np.int64)
"""The number of threads that run, which backends read at each parallel loop, and the number asked
for; 0 before they are first used."""


def set_threads(count: int | None) -> None:
    """Run parallel loops on ``count`` threads from now on; None: on as many as at first, which
    ``FINCH_THREADS`` gives, or the cores that this process may use, at most ``OMP_NUM_THREADS``.

    No more run at a time than these cores, as they are now, unless ``FINCH_OVERSUBSCRIBE`` is 1.
    Results do not depend on the number. Raises ``ValueError`` for one below 1, and ``TypeError``
    for what is no integer.
    """
    if count is not None and operator.index(count) < 1:
        raise ValueError(f"the number of threads is 1 or more, not {count}")
    asked = min(count, MOST) if count is not None else _first()
    beyond = os.environ.get(BEYOND, "").strip() not in ("", "0")
    _count[:] = asked if beyond else min(asked, cores()), asked


def threads() -> int:
    """The number of threads that parallel loops are asked to run on."""
    return int(_counts()[1])


def running() -> int:
    """The number of threads on which they run: no more than there are cores."""
    return int(_counts()[0])


def _counts() -> np.ndarray[Any, np.dtype[np.int64]]:
    if not _count[0]:
        set_threads(None)
    return _count


def address() -> int:
    """Where the number of threads that run is, an int64."""
    return int(_counts().ctypes.data)


def _first() -> int:
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return min(cores(), _common(), MOST)
    if not text.isdigit() or int(text) < 1:
        raise BackendError(
            f"{VARIABLE} is {text!r}, which is no number of threads",
            hint=f"set it to 1 or more, or leave it out: this process may use {cores()}",
        )
    return min(int(text), MOST)


def _common() -> int:
    """The number that all libraries of the process are given; the largest where there is none."""
    first = os.environ.get(COMMON, "").split(",")[0].strip()
    return int(first) if first.isdigit() and int(first) else MOST


def cores() -> int:
    """The number of cores that this process may use: by its affinity, and by the limit of its
    control group."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        allowed = os.cpu_count() or 1
    quota = _quota()
    return max(1, allowed if quota is None else min(allowed, quota))


def _quota() -> int | None:
    """The whole cores that the control group grants; None without a limit."""
    for path in _LIMITS:
        with suppress(OSError, ValueError):
            found = [_read(name) for name in path]
            words = found[0].split() + (found[1].split() if len(found) > 1 else [])
            if words[0] in ("max", "-1"):
                return None
            return max(1, int(words[0]) // int(words[1]))
    return None


_LIMITS = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


__all__ = ["cores", "running", "set_threads", "threads"]
