"""Merges of sorted lists against loops by hand: inner products and sums of random sparse vectors,
and inner products that gallop through a long list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.hand import KERNEL_FLAGS, library, pointer
from bench.harness import compare
from finch_core import Tensor, _, asarray, gallop, kernel
from finch_levels import Element, SparseList

LIST = SparseList(Element(0.0), index=np.int32, pointer=np.int32)


@kernel
def dot(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[i] * b[i]
    return s


@kernel
def total(c, a, b):
    c[...] = 0
    for i in _:
        c[i] = a[i] + b[i]
    return c


@kernel
def sought(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[gallop(i)] * b[i]
    return s


@kernel
def leaps(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[gallop(i)] * b[gallop(i)]
    return s


def vector(stored: int, size: int, seed: int) -> Tensor:
    """A sparse vector with entries at random indices."""
    generator = np.random.default_rng(seed)
    indices = np.sort(generator.choice(size, stored, replace=False)).astype(np.int32)
    values = generator.random(stored)
    buffers = {"0_ptr": np.array([0, stored], np.int32), "0_idx": indices, "1_val": values}
    return Tensor.from_buffers(LIST, (size,), buffers)


WORK: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "inner product": (dot, ("dot_branches", "dot_steps")),
    "sum": (total, ("sum_branches", "sum_steps")),
    "inner product, the short one leads": (sought, ("dot_sought",)),
    "inner product, both gallop": (leaps, ("dot_leaps",)),
}
"""Kernels, and the loops of ``bench/hand/loops.c`` for the same."""


def cases(shorter: int) -> Iterator[tuple[str, int, int, int]]:
    """The work, entries of each list, and the number of indices."""
    many = 1_000_000 // shorter
    for work in ("inner product", "sum"):
        for size in (2 * many, 10 * many):
            yield work, many, many, size
    for work in ("inner product, the short one leads", "inner product, both gallop"):
        for few in (many // 1000, many // 30):
            yield work, few, many, 10 * many


def run(seconds: float = 1.0, shorter: int = 1) -> list[dict[str, Any]]:
    """A row a workload: nanoseconds for each entry, and our time as a share of the best by hand."""
    rows = []
    for work, n, m, size in cases(shorter):
        a, b = vector(n, size, 1), vector(m, size, 2)
        function, loops = WORK[work]
        out = Tensor(LIST, (size,)) if work == "sum" else asarray(np.zeros(()))
        contenders = {"finch": lambda f=function, out=out, a=a, b=b: f(out, a, b)}
        found = {}
        for name in loops:
            contenders[name], found[name] = by_hand(name, a, b)
        expected = np.asarray(contenders["finch"]().to_numpy())
        for name, result in found.items():
            contenders[name]()
            np.testing.assert_allclose(result(), expected, err_msg=name)
        times = compare(contenders, seconds, at_least=3)
        each = {name: timing.seconds / (n + m) * 1e9 for name, timing in times.items()}
        best = min(each[name] for name in loops)
        row = {"work": work, "entries": f"{n:,} and {m:,}", "of indices": f"{size:,}"}
        plain, flat = each[loops[0]], each[loops[1]] if len(loops) > 1 else ""
        hand = {"hand (ns)": plain, "without branches (ns)": flat}
        rows.append({**row, "finch (ns)": each["finch"], **hand, "of hand": each["finch"] / best})
    return rows


def by_hand(name: str, a: Tensor, b: Tensor) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A loop of ``bench/hand/loops.c`` on two vectors, and what gives its result as an array."""
    ffi, loops = library("loops", KERNEL_FLAGS)
    given: list[Any] = []
    for tensor in (a, b):
        arrays = tensor.buffers["0_idx"], tensor.buffers["1_val"]
        given += [*(pointer(ffi, array) for array in arrays), len(arrays[0])]
    run = getattr(loops, name)
    if not name.startswith("sum"):
        result = np.zeros(1)
        return lambda: run(*given, pointer(ffi, result)), lambda: result[0]
    room = a.nstored + b.nstored
    indices, values = np.zeros(room, np.int32), np.zeros(room)
    out = pointer(ffi, indices), pointer(ffi, values)

    def summed() -> Any:
        found = np.zeros(a.shape)
        count = run(*given, *out)
        found[indices[:count]] = values[:count]
        return found

    return lambda: run(*given, *out), summed
