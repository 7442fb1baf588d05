"""SparseHash against a hand-written open-addressing loop in C: random updates that accumulate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.hand import KERNEL_FLAGS, library, pointer
from bench.harness import compare
from finch_core import Tensor, _, kernel
from finch_levels import Element, SparseHash

UPDATES = 10_000_000


@kernel
def accumulate(out, keys, values):
    out[...] = 0
    for k in _:
        out[keys[k]] += values[k]
    return out


def workloads(updates: int) -> Iterator[tuple[str, Any, int]]:
    """Names, keys and the number of indices: few, many and nearly as many keys as updates."""
    generator = np.random.default_rng(0)
    for share in (10_000, 100, 10, 1):
        size = max(16, updates // share)
        yield f"{size:,} keys", generator.integers(0, size, updates), size


def run(seconds: float = 3.0, updates: int = UPDATES) -> list[dict[str, Any]]:
    """A row a workload: seconds of each, and their ratio.

    SparseHash sorts its entries at the end, which the hand-written loop leaves out.
    """
    ffi, loops = library("loops", KERNEL_FLAGS)
    rows = []
    for name, keys, size in workloads(updates):
        values = np.random.default_rng(1).random(updates)
        out = Tensor(SparseHash(Element(0.0)), (size,))
        k, v = pointer(ffi, keys), pointer(ffi, values)
        contenders = {
            "hand": lambda k=k, v=v: loops.hashed(k, v, updates),
            "finch": lambda out=out, keys=keys, values=values: accumulate(out, keys, values),
        }
        assert contenders["finch"]().nstored == contenders["hand"]()
        times = compare(contenders, seconds, at_least=3)
        hand, finch = (times[n].seconds for n in contenders)
        row = {"keys": name, "hand s": hand, "SparseHash s": finch, "ratio": finch / hand}
        rows.append({"updates": f"{updates:,}", **row})
    return rows
