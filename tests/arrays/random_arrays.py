"""Random expressions of array functions beside NumPy, in value, dtype and shape.

    python tests/arrays/random_arrays.py --count 50000 --seconds 3600 --jobs 2

Each expression is a tree of operators, functions, reductions, products, indexing, assignment,
sorting and manipulation over arrays of random formats, fills, dtypes and shapes. A mismatch
prints the expression and its leaves. ``--draws 10`` takes each tree with ten draws of values. By
default kernels run on the interpreter as they are lowered, which is fastest; ``--passes`` adds the
passes over assembly, ``--backend c`` compiles.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from array_support import computed_by_kernels, without_passes
from random_leaves import Pair, draws, leaf
from random_shapes import assigned, indexed, joined, shaped, sorted_, stored, taken
from random_steps import (
    Refused,
    Step,
    binary,
    cast,
    chosen,
    cumulated,
    multiplied,
    reduced,
    stated,
    summed,
    unary,
)

STEPS: tuple[Step, ...] = (
    binary, binary, binary, chosen, unary, unary, cast, reduced, reduced, cumulated, multiplied,
    multiplied, summed, stated, indexed, indexed, taken, assigned, shaped, shaped, joined, stored,
    sorted_,
)  # fmt: skip


def grown(rng: np.random.Generator, depth: int, leaves: list[str]) -> Pair:
    """A random expression."""
    if depth == 0 or rng.random() < 0.12:
        return leaf(rng, leaves)
    first = grown(rng, depth - 1, leaves)
    step = STEPS[rng.integers(len(STEPS))]

    def another(shape: Any = None, kinds: str = "") -> Pair:
        """An operand beside the first: an expression, or a leaf of this shape and kind."""
        if shape is None:
            return grown(rng, depth - 1, leaves)
        return leaf(rng, leaves, shape, kinds)

    try:
        return step(rng, first, another)
    except Refused:
        return first


def differs(found: Any, wanted: Any, rounded: float) -> str:
    """How a result differs from NumPy's, where ``rounded`` is the relative error that it may have;
    empty if it does not."""
    wanted = np.asarray(wanted)
    if tuple(found.shape) != wanted.shape:
        return f"shape {found.shape} instead of {wanted.shape}"
    if found.dtype != wanted.dtype:
        return f"dtype {found.dtype} instead of {wanted.dtype}"
    mine = np.asarray(found)
    if not rounded:
        same = (mine == wanted) | ((mine != mine) & (wanted != wanted))
    else:
        scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1.0)
        same = np.isclose(mine, wanted, rtol=rounded, atol=rounded * scale, equal_nan=True)
    return "" if np.all(same) else f"values {mine.tolist()} instead of {wanted.tolist()}"


def check(seed: int, count: int = 1, depth: int = 3) -> str:
    """What is wrong with the expression of this seed; empty if nothing is. ``count`` seeds in a row
    are one tree over other values. Few elements are left to NumPy in every other tree."""
    with computed_by_kernels() if seed // count % 2 else contextlib.nullcontext():
        return _checked(seed, count, depth)


def _checked(seed: int, count: int, depth: int) -> str:
    rng = draws(seed, count)
    leaves: list[str] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = grown(rng, int(rng.integers(1, depth + 1)), leaves)
            wrong = differs(found.mine, found.theirs, found.rounded)
        except Exception as error:
            told = "\n".join([*getattr(error, "__notes__", ()), *leaves])
            return f"seed {seed}: {told}\n{traceback.format_exc(limit=-5)}"
    told = "\n".join([found.text, *leaves])
    return f"seed {seed}: {wrong}\n{told}" if wrong else ""


def results(seeds: range, jobs: int, count: int) -> Iterator[str]:
    """What is wrong with the expressions of these seeds, in some order. Processes are started anew
    now and then, since each remembers the kernels of all its expressions (400 KB for each)."""
    with multiprocessing.Pool(jobs, maxtasksperchild=2000 // count) as pool:
        yield from pool.imap_unordered(partial(check, count=count), seeds, chunksize=count)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--draws", type=int, default=1, help="expressions of one tree")
    parser.add_argument("--backend", default="interpreter")
    parser.add_argument("--passes", action="store_true")
    options = parser.parse_args()
    os.environ["FINCH_BACKEND"] = options.backend
    if not options.passes:
        without_passes()
    started, bad, done = time.monotonic(), 0, 0
    seeds = range(options.seed, options.seed + options.count)
    for wrong in results(seeds, options.jobs, options.draws):
        done += 1
        if wrong:
            bad += 1
            print(wrong, flush=True)
        if time.monotonic() - started > options.seconds:
            break
    print(f"{done} expressions, {bad} wrong, {time.monotonic() - started:.0f} s")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
