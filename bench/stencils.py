"""Sums of windows of sparse, run-length and banded images, beyond the borders too, against merges
by hand of what the rows store."""

from __future__ import annotations

import linecache
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from bench import generators
from bench.hand import KERNEL_FLAGS, library, pointer
from bench.harness import compare
from finch_core import Tensor, _, coalesce, kernel
from finch_levels import Dense, Element, RunList, SparseBand, SparseList

LEAF = Element(0.0)
DENSE = Dense(Dense(LEAF))
LOOPS = {"SparseList": "lists", "RunList": "runs", "SparseBand": "bands"}
"""The functions of ``bench/hand/stencils.c``."""


def window(side: int) -> Any:
    """The kernel that sums ``side`` times ``side`` elements around each."""
    shifts = range(-(side // 2), side // 2 + 1)
    reads = [f"coalesce(A[~(i + {p}), ~(j + {q})], 0)" for p, q in product(shifts, repeat=2)]
    scope: dict[str, Any] = {"coalesce": coalesce, "_": _}
    lines = ["def window(C, A):", "    C[...] = 0", "    for i, j in _:"]
    text = "\n".join([*lines, f"        C[i, j] = {' + '.join(reads)}", "    return C"])
    name = f"<window of {side}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)
    return kernel(scope["window"])


def images(side: int) -> Iterator[tuple[str, Any, np.ndarray[Any, Any]]]:
    """What it shows, the format of its rows, and the image."""
    generator = np.random.default_rng(0)
    for density in (0.02, 0.1):
        entries = generator.random((side, side))
        yield f"entries, density {density:g}", SparseList, entries * (entries < density)
    levels = generators.runs(side, side, 40, 0).astype(float)
    yield "runs of 40", RunList, levels
    yield "blobs", RunList, generators.blobs(side, side, side / 40).astype(float)
    across = np.arange(side) - side / 2
    disc = np.hypot(across, across[:, None]) < side / 3
    yield "disc", SparseBand, generator.random((side, side)) * disc
    strip = np.abs(across - across[:, None]) < side / 50
    yield "diagonal strip", SparseBand, generator.random((side, side)) * strip


def run(seconds: float = 1.0, side: int = 1000) -> list[dict[str, Any]]:
    """A row for each image, window and format of the result: milliseconds."""
    rows = []
    for (name, level, image), size in product(images(side), (3, 5)):
        for result in (level, Dense):
            row = {"image": name, "rows": level.name, "window": f"{size} x {size}"}
            rows.append(row | _compared(level, image, size, result, seconds))
    return rows


def _compared(level: Any, image: Any, size: int, result: Any, seconds: float) -> dict[str, Any]:
    tensor = Tensor(Dense(level(LEAF)), image)
    out = Tensor(Dense(result(LEAF)), image.shape)
    start = time.perf_counter()
    function = window(size)
    function(out, tensor)
    compiled = time.perf_counter() - start
    contenders = {"finch": function.bind(out, tensor)}
    contenders["hand"], found = by_hand(f"{LOOPS[level.name]}_{size}", tensor, result)
    if level is SparseList and result is Dense:
        contenders["scatter"], _found = by_hand(f"scatter_{size}", tensor, result)
    for run in contenders.values():
        run()
    np.testing.assert_allclose(out.to_numpy(), found(), atol=1e-12)
    timed = compare(contenders, seconds, at_least=3)
    spent = {name: timing.seconds * 1e3 for name, timing in timed.items()}
    scattered: Any = spent.get("scatter", "")
    return {
        "result": result.name,
        "first call (s)": compiled,
        "finch (ms)": spent["finch"],
        "hand (ms)": spent["hand"],
        "of hand": spent["finch"] / spent["hand"],
        "scatter (ms)": scattered,
    }


def by_hand(name: str, tensor: Tensor, result: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A loop of ``bench/hand/stencils.c`` on a tensor, and what gives its result as an array."""
    ffi, loops = library("stencils", KERNEL_FLAGS)
    n, m = tensor.shape
    own = result is not Dense
    heads, tails = ("1_ofs", "1_idx") if "bands" in name else ("1_ptr", "1_idx")
    if "runs" in name:
        tails = "1_right"
    given = [pointer(ffi, tensor.buffers[field]) for field in (heads, tails, "2_val")]
    starts, ends, values = np.zeros(n + 1, np.int64), np.zeros(n * m, np.int64), np.zeros(n * m)
    out = [pointer(ffi, a) if own else ffi.NULL for a in (starts, ends)] + [pointer(ffi, values)]
    function = getattr(loops, name)

    def found() -> Any:
        count = function(n, m, *given, *out)
        if not own:
            return values.reshape(n, m)
        buffers = {heads: starts, tails: ends[: n if "bands" in name else count]}
        format = Dense(result(LEAF))
        made = Tensor.from_buffers(format, (n, m), {**buffers, "2_val": values[:count]})
        return made.to_numpy()

    return lambda: function(n, m, *given, *out), found
