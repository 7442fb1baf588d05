"""Reading and writing text files of random entries, beside SciPy and pandas.

Ours reads into rows, sorted and with duplicates added, SciPy's ``mmread`` into the coordinates as
they stand in the file; ``mmread`` and ``tocsr`` have a row too. Pandas reads a table. Seconds are
those of the wall; all use two threads where the machine has them, and the processor's seconds of
all threads tell what other work cannot change.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import scipy.io
import scipy.sparse

from finch_core import read, write

Ways = dict[str, Callable[[], Any]]


def run(count: int, repeats: int = 3) -> list[dict[str, Any]]:
    """A row for each file and direction: seconds of each contender, and those of its processor."""
    generator = np.random.default_rng(0)
    side = max(count // 25, 1)
    coords = [generator.integers(0, side, count) for _ in range(2)]
    values = generator.standard_normal(count)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for digits, numbers in (("all digits", values), ("3 digits", values.round(3))):
            matrix = scipy.sparse.coo_array((numbers, coords), shape=(side, side)).tocsr()
            for ending in (".mtx", ".tns", ".tns.gz"):
                path = Path(name) / f"a{ending}"
                ways = _ways(path, matrix)
                for what in ("write", "read"):
                    rows.append({"file": f"{ending}, {digits}", "what": what})
                    rows[-1] |= _timed(ways[what], 1 if ending.endswith("gz") else repeats)
    return rows


def _ways(path: Path, matrix: Any) -> dict[str, Ways]:
    """What reads and writes a file: the first writer leaves it for the readers."""
    if path.suffix == ".mtx":
        other = path.with_name("b.mtx")
        return {
            "read": {
                "ours": lambda: read(path),
                "mmread": lambda: scipy.io.mmread(path),
                "mmread, tocsr": lambda: scipy.io.mmread(path).tocsr(),
            },
            "write": {
                "ours": lambda: write(path, matrix),
                "mmwrite": lambda: scipy.io.mmwrite(other, matrix),
            },
        }
    entries = matrix.tocoo()
    frame = pandas.DataFrame({"i": entries.row + 1, "j": entries.col + 1, "v": entries.data})
    other = path.with_name("b" + "".join(path.suffixes))
    options: Any = {"sep": " ", "header": None}
    return {
        "read": {"ours": lambda: read(path), "pandas": lambda: pandas.read_csv(path, **options)},
        "write": {
            "ours": lambda: write(path, matrix),
            "pandas": lambda: frame.to_csv(other, sep=" ", header=False, index=False),
        },
    }


def _timed(ways: Ways, repeats: int) -> dict[str, Any]:
    """The least seconds of each, in turns, after one run of ours that compiles."""
    found: dict[str, Any] = {}
    next(iter(ways.values()))()
    for _ in range(repeats):
        for name, run in ways.items():
            start, used = time.perf_counter(), time.process_time()
            run()
            taken = time.perf_counter() - start, time.process_time() - used
            for key, seconds in zip((name, f"{name}, processor"), taken, strict=True):
                found[key] = min(found.get(key, seconds), seconds)
    return found
