"""What parallel loops take on idle cores, from the processor time of each part on one thread.

A busy machine does not run two threads at the same time, so that the wall clock tells little there
(``bench.parallel``). Here each part and its merge is timed on one thread, by that thread's clock,
least of many; then parts are given to two threads as the pool does: in order, to who is free first,
and merges wait for their turn. What two cores share (memory) is left out.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bench.parallel import ASKED, cases, in_order
from finch_backend_c import entry
from finch_core import kernel, set_threads

MOST = 1024
_CLOCK = """
#include <time.h>
static double *spans_merging;
static double spans_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
"""
_ALONE = "    return !pool || *pool->threads <= 1;\n"
_AWAITS = "static inline bool parallel_awaits(struct parallel_loop *loop, int64_t part)\n{\n"
_CALL = "        const int64_t status = loop->call(loop, control, part, lane);\n"
_TIMED = """\
        double *const span = (double *)(uintptr_t)$log + 2 * part;
        spans_merging = &span[1], span[1] = 0;
        const double begun = spans_now();
        const int64_t status = loop->call(loop, control, part, lane);
        const double merging = span[1], ended = spans_now();
        span[0] = (merging != 0 ? merging : ended) - begun;
        span[1] = merging != 0 ? ended - merging : 0;
"""


@contextmanager
def timed(log: Any) -> Iterator[None]:
    """Kernels that are compiled here write the time of each part, and of its merge, to ``log``."""
    plain = entry.RUNTIME
    text = plain.replace(_AWAITS, _CLOCK + _AWAITS + "    *spans_merging = spans_now();\n")
    text = text.replace(_CALL, _TIMED.replace("$log", str(log.ctypes.data)))
    entry.RUNTIME = text.replace(_ALONE, "    return !pool;\n")  # as many parts as for two threads
    assert entry.RUNTIME.count("spans_now()") == 3
    assert text != entry.RUNTIME
    held = os.environ.get("FINCH_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:  # nobody else finds these kernels
        os.environ["FINCH_CACHE_DIR"] = folder
        try:
            yield
        finally:
            entry.RUNTIME = plain
            del os.environ["FINCH_CACHE_DIR"]
            if held is not None:
                os.environ["FINCH_CACHE_DIR"] = held


def makespan(parts: Any, threads: int) -> float:
    """When the last part ends."""
    free, turn = [0.0] * threads, 0.0
    for work, merge in parts:
        who = free.index(min(free))
        end = free[who] + work
        if merge:
            turn = end = max(end, turn) + merge
        free[who] = end
    return max(free)


def run(seconds: float = 2.0, scale: float = 1.0) -> list[dict[str, Any]]:
    """A row for each program."""
    rows = []
    set_threads(1)
    for name, function, args in cases(scale):
        log, copied = np.zeros((MOST, 2)), [_copy(arg) for arg in args]
        plain, with_log, loop = kernel(function), kernel(function), in_order(function)
        with timed(log):
            with_log(*args)
        best, spans = dict.fromkeys("opl", np.inf), np.full((MOST, 2), np.inf)
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends or np.inf in best.values():
            for key, call in zip("opl", (loop, plain, with_log), strict=True):
                for held, arg in zip(args, copied, strict=True):
                    if isinstance(arg, np.ndarray):
                        held[...] = arg
                start = time.thread_time()
                call(*args)
                best[key] = min(best[key], (time.thread_time() - start) * 1e3)
            spans = np.minimum(spans, log)
        parts = spans[spans[:, 0] > 0]
        one, two = parts.sum() / 1e6, makespan(parts, 2) / 1e6
        outside = max(best["p"] - one, 0)
        row = {"program": name, "parts": len(parts), "in order ms": best["o"]}
        row |= {"1 thread": best["p"] / best["o"], "merges": parts[:, 1].sum() / 1e6 / one}
        row |= {"2 idle cores": best["o"] / (outside + two), "asked for": ASKED.get(name, "")}
        rows.append(row)
    set_threads(None)
    return rows


def _copy(arg: Any) -> Any:
    return arg.copy() if isinstance(arg, np.ndarray) else arg
