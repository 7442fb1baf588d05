"""The number of threads on which parallel loops run."""

from __future__ import annotations

import os
from contextlib import suppress

import numpy as np

from finch_core.errors import BackendError

VARIABLE = "FINCH_THREADS"
COMMON = "OMP_NUM_THREADS"
"""What dask and joblib set in the processes that they start, so that these do not take more cores
together than there are."""
MOST = 64
"""The largest number of threads that one loop uses."""

_count = np.zeros(1, np.int64)
"""The number of threads, which backends read at each parallel loop; 0 before it is first used."""


def set_threads(count: int | None) -> None:
    """Run parallel loops on ``count`` threads from now on; None: on as many as at first, which
    ``FINCH_THREADS`` gives, or the cores that this process may use, at most ``OMP_NUM_THREADS``.

    Results do not depend on it. Raises ``ValueError`` for a number below 1.
    """
    if count is not None and count < 1:
        raise ValueError(f"the number of threads is 1 or more, not {count}")
    _count[0] = min(count, MOST) if count is not None else _first()


def threads() -> int:
    """The number of threads on which parallel loops run."""
    if not _count[0]:
        set_threads(None)
    return int(_count[0])


def address() -> int:
    """Where the number of threads is, an int64."""
    threads()
    return int(_count.ctypes.data)


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
    with open(path, encoding="ascii") as file:
        return file.read()


__all__ = ["cores", "set_threads", "threads"]
