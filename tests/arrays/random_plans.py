"""Random lazy expressions beside NumPy, by every plan: in value, dtype and shape.

    python tests/arrays/random_plans.py --count 20000 --seconds 3600 --seed 1

The expressions are those of ``random_arrays``, over lazy leaves (``--graphs``: graphs of products,
sums and masks with shared parts; ``--forced``: by four other plans, too; ``--draws 10``: each tree
with ten draws of values and numbers). A mismatch prints the
expression and the leaves.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import attrs
import pytest
import random_arrays
import random_leaves
from array_support import LEVELS, fa, without_passes
from random_shapes import assigned

from finch_array.plan import fusing, programs, search
from finch_array.plan.lazies import Lazy
from finch_core import Tensor
from finch_core.testing.formats import admit
from finch_levels import Element

Pair = tuple[Any, Any]


def expression(seed: int, count: int = 1) -> str:
    """What is wrong with the lazy expression of this seed, of which ``count`` in a row are one tree
    over other values; empty if nothing is."""

    def leaf(*args: Any) -> random_arrays.Pair:
        found = random_leaves.leaf(*args)
        return attrs.evolve(found, mine=fa.lazy(found.mine))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random_arrays, "leaf", leaf)
        patch.setattr(random_arrays, "STEPS", STEPS)
        return random_arrays.check(seed, count)


STEPS = tuple(step for step in random_arrays.STEPS if step is not assigned)
"""Lazy arrays are not assigned to."""


# -- graphs of matrices -----------------------------------------------------------------------

MATRICES = [
    ("Dense", "SparseList"), ("SparseList", "SparseList"), ("Dense", "Dense"),
    ("SparseHash", "SparseHash"), ("Dense", "SparseBand"), ("Dense", "RunList"),
    ("Dense", "SparseByteMap"), ("SparseList", "SparseRunList"),
]  # fmt: skip
DTYPES = (np.float64, np.int64, np.float32, np.bool_, np.int8)


def matrix(rng: np.random.Generator, shape: tuple[int, int], dtype: Any) -> Pair:
    """A matrix of some format, and its NumPy array."""
    names = MATRICES[rng.integers(len(MATRICES))]
    fill = np.dtype(dtype).type(0 if "SparseBand" in names or rng.random() < 0.8 else 1)
    values = rng.integers(0, 3, shape).astype(dtype)
    array = np.where(rng.random(shape) < rng.choice([0.1, 0.4, 0.8]), values, fill)
    format: Any = Element(fill)
    for name in reversed(names):
        format = LEVELS[name](format)
    array = admit(format, array)
    return (fa.lazy(Tensor(format, array)), array)


def products(rng: np.random.Generator, pool: list[Pair]) -> Pair:
    """A new matrix or vector from two of the pool."""
    a, b = (pool[rng.integers(len(pool))] for _ in range(2))
    kind = rng.integers(8)
    if kind < 3 and a[1].ndim == 2 and b[1].ndim == 2:
        for p, q in ((a, b), (b, a), (a, (b[0].T, b[1].T)), ((a[0].T, a[1].T), b)):
            if p[1].shape[1] == q[1].shape[0]:
                return p[0] @ q[0], p[1] @ q[1]
    if kind < 5 and a[1].shape == b[1].shape:
        sign = rng.integers(3)
        if sign == 0 or a[1].dtype == bool or b[1].dtype == bool:
            return a[0] * b[0], a[1] * b[1]
        return (a[0] + b[0], a[1] + b[1]) if sign == 1 else (a[0] - b[0], a[1] - b[1])
    if kind == 5 and a[1].ndim:
        axis = int(rng.integers(a[1].ndim))
        if rng.random() < 0.3 and a[1].shape[axis]:
            return fa.max(a[0], axis=axis), np.max(a[1], axis=axis)
        return fa.sum(a[0], axis=axis), np.sum(a[1], axis=axis)
    if kind == 6:
        return fa.not_equal(a[0], 0), np.not_equal(a[1], 0)
    if kind == 7 and a[1].ndim == 2:
        if rng.random() < 0.5:
            return a[0].T, a[1].T
        step = int(rng.choice([1, 2, -1]))
        return a[0][:, ::step], a[1][:, ::step]
    return a


PLANS = ("first", "last", "one kernel", "stored")
"""Plans that are not the cheapest: the first or the last index of a product is summed last, one
kernel sums them all, every reduction is stored where it stands."""


@contextlib.contextmanager
def forcing(kind: str) -> Iterator[None]:
    """Lazy arrays are computed by other plans (``PLANS``)."""
    with pytest.MonkeyPatch.context() as patch:
        if kind == "stored":
            plain = programs.Problem.plan
            patch.setattr(programs.Problem, "plan", lambda self: plain(self, exact=True))
        elif kind == "one kernel":
            patch.setattr(search.Elimination, "endings", lambda *_: [])
            patch.setattr(search, "TOGETHER", 100)
        else:
            patch.setattr(
                search.Elimination, "candidates",
                lambda _, names: [names & -names if kind == "first" else _last(names)],
            )  # fmt: skip
            patch.setattr(search.Elimination, "together", _single)
        patch.setattr(fusing, "_plans", {})
        yield


def _last(names: int) -> int:
    return 1 << names.bit_length() - 1


def _single(self: Any, names: int, limit: float) -> Any:
    """One kernel for one index."""
    if names.bit_count() > 1:
        return None
    kernel = self.kernel(names, self.chosen(self.touching(names)))
    search.priced(search.sketched(kernel, self.book), self.book)
    return kernel.price, (kernel,)


def graph(seed: int, plans: Sequence[str] = ()) -> str:
    """What is wrong with the graph of this seed, by the plan of ``compute`` and by others
    (``PLANS``); empty if nothing."""
    rng = np.random.default_rng(seed)
    sizes = [int(x) for x in rng.choice([1, 2, 3, 5, 8, 30], 3)]
    dtype = DTYPES[rng.integers(len(DTYPES))]
    pool = [matrix(rng, (sizes[i], sizes[j]), dtype) for i, j in ((0, 1), (1, 2), (0, 2), (1, 1))]
    first = len(pool)
    try:
        with np.errstate(all="ignore"):
            for _ in range(int(rng.integers(2, 9))):
                pool.append(products(rng, pool))
            chosen = [pool[-1], pool[rng.integers(first, len(pool))]]
            nodes = [x.lazy_node for x, _ in chosen]
            by_plan = {"": fa.compute([x for x, _ in chosen])}
            for kind in plans:
                with forcing(kind):  # a lazy array that has been computed keeps its result
                    by_plan[kind] = fa.compute(list(map(Lazy, nodes)))
    except Exception:
        return f"seed {seed}\n" + traceback.format_exc(limit=-6)
    wrong = {}
    for kind, found in by_plan.items():
        told = [random_arrays.differs(x, w, True) for x, (_, w) in zip(found, chosen, strict=True)]
        if any(told):
            wrong[kind] = told
    return f"seed {seed}: {wrong}" if wrong else ""


def check(seed: int, graphs: bool = False, plans: Sequence[str] = (), count: int = 1) -> str:
    """What is wrong with the expression or graph of this seed; empty if nothing is."""
    return graph(seed, plans) if graphs else expression(seed, count)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--graphs", action="store_true")
    parser.add_argument("--forced", action="store_true")
    parser.add_argument("--draws", type=int, default=1, help="expressions of one tree")
    parser.add_argument("--backend", default="interpreter")
    options = parser.parse_args()
    os.environ["FINCH_BACKEND"] = options.backend
    without_passes()
    started, bad, done = time.monotonic(), 0, 0
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() - started > options.seconds:
            break
        wrong = check(seed, options.graphs, PLANS if options.forced else (), options.draws)
        done += 1
        if wrong:
            bad += 1
            print(wrong, flush=True)
    print(f"{done} plans, {bad} wrong, {time.monotonic() - started:.0f} s")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
