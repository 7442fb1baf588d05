"""A long search with random programs: ``python tests/parity/random_search.py 10000``.

Program ``k`` is the one of seed ``search.k``, so that a search can be repeated, parted and gone on
with (``--first``). All run on the interpreter, every 20th (``--every``) in C as well. What fails is
made small and printed as Python that can be run; the search goes on to its end.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
import warnings
from collections import Counter

from random_checks import outcome, report
from random_programs import make

from finch_core import PerformanceWarning


def main() -> int:
    parser = argparse.ArgumentParser(description="Look for programs that differ from NumPy.")
    parser.add_argument("count", type=int, help="how many programs")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--every", type=int, default=20, help="how often one runs in C, too")
    options = parser.parse_args()
    os.environ.setdefault("FINCH_CFLAGS", "-O1")
    warnings.simplefilter("ignore", PerformanceWarning)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FINCH_CACHE_DIR"] = folder
        return search(range(options.first, options.first + options.count), options.every)


def search(numbers: range, every: int) -> int:
    """The number of findings."""
    found: Counter[str] = Counter()
    started = time.monotonic()
    gc.disable()  # it would look through all kernels so far, again and again
    for k in numbers:
        program = make(f"search.{k}")
        backends = ("interpreter", "c") if k % every == 0 else ("interpreter",)
        for backend in backends:
            what, why = outcome(program, backend)
            found[f"{what} on {backend}"] += 1
            if what == "failed":
                print(report(program, backend, why), flush=True)
        if k % 100 == 99:
            gc.collect()
            seconds = time.monotonic() - started
            print(f"-- up to {k}, after {seconds:.0f} s: {dict(found)}", flush=True)
    print(f"-- {len(numbers)} programs: {dict(found)}")
    return sum(n for what, n in found.items() if what.startswith("failed"))


if __name__ == "__main__":
    sys.exit(min(main(), 1))
