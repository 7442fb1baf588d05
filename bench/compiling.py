"""What is paid around a kernel: importing, compiling, a second process, and a warm call."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness import compare

PROGRAM = """
import time
start = time.perf_counter()
import numpy as np
numpy_loaded = time.perf_counter()
from finch_core import Tensor, asarray, kernel
from finch_levels import Dense, Element, SparseList
imported = time.perf_counter()
from bench.tiny import arguments, spmv
y, A, _ = arguments()
made = time.perf_counter()
spmv(y, A, np.ones(3))
done = time.perf_counter()
print(numpy_loaded - start, imported - numpy_loaded, made - imported, done - made, done - imported)
"""

PARTS = (
    "import numpy",
    "import finch",
    "make tensors",
    "first call",
    "first result after import",
)


def environment(cache: str) -> dict[str, str]:
    """This process's, with a kernel cache of its own, and with bytecode and drafts as users have
    them."""
    ours = ("PYTHONDONTWRITEBYTECODE", "FINCH_DRAFTS")
    inherited = {k: v for k, v in os.environ.items() if k not in ours}
    return {**inherited, "FINCH_CACHE_DIR": cache}


def process(cache: str) -> dict[str, float]:
    """Milliseconds by part of a fresh process whose disk cache is in the folder ``cache``."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(cache),
        cwd=Path(__file__).parents[1],
        check=True,
    )
    seconds = map(float, done.stdout.split())
    return {part: s * 1e3 for part, s in zip(PARTS, seconds, strict=True)}


def processes(repeats: int) -> list[dict[str, Any]]:
    """Minimum milliseconds of a process without and with the kernel on disk."""
    cold, warm, rows = [], [], []
    for _repeat in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(process(cache))
            warm.append(process(cache))
    for name, runs in (("nothing on disk", cold), ("kernel on disk", warm)):
        least = {part: min(run[part] for run in runs) for part in PARTS}
        rows.append({"process (ms)": name, **least})
    return rows


def cold_compile() -> list[dict[str, Any]]:
    """Milliseconds by stage of compiling one kernel that neither memory nor disk has.

    ``compile`` is the backend: its source, the C compiler and loading; the rest is Python.
    """
    from bench.tiny import arguments, fresh_spmv

    tensors = arguments()
    start = time.perf_counter()
    lowered = fresh_spmv().lower(*tensors)
    lowered.compile()
    total = time.perf_counter() - start
    compiler = lowered.seconds["compile"]
    stages = {stage: seconds * 1e3 for stage, seconds in lowered.seconds.items()}
    python = (total - compiler) * 1e3
    return [{"cold compile (ms)": "spmv", **stages, "all of Python": python, "total": total * 1e3}]


def warm_call() -> list[dict[str, Any]]:
    """Microseconds of a call on 1 x 1 data, with three tensors and with a NumPy vector."""
    import scipy.sparse

    from bench.tiny import arguments, spmv

    y, A, x = arguments(1)
    theirs, vector = scipy.sparse.csr_array(np.eye(1)), np.ones(1)
    calls = {
        "three tensors": lambda: spmv(y, A, x),
        "a NumPy vector": lambda: spmv(y, A, vector),
        "SciPy": lambda: theirs @ vector,
    }
    timing = compare(calls, 0.5)
    return [{"warm call (us)": "spmv", **{n: t.seconds * 1e6 for n, t in timing.items()}}]


def run(repeats: int) -> list[list[dict[str, Any]]]:
    """All tables of this benchmark."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["FINCH_CACHE_DIR"] = cache
        return [processes(repeats), cold_compile(), warm_call()]
