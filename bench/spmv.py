"""SpMV: every program and format of the example against the peers, on the paper's matrices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import data as real
from bench import generators, peers
from bench.races import Race, Target, over_taco
from docs.examples import spmv_formats
from finch_core import Tensor, asarray
from finch_levels import (
    Dense,
    Element,
    Pattern,
    SparseBand,
    SparseBlockList,
    SparseInterval,
    SparseList,
    SparsePinpoint,
)


def _with_gathers_too(times: float) -> tuple[Target, ...]:
    """Over TACO as it is, and over its loop with all instructions of this machine, for which
    ``-ffast-math`` makes compilers emit gathers: those are slower here where rows are long."""
    return *over_taco(times), Target("taco-like native", times)


TARGETS = {
    "random 100k x 10": (*over_taco(1 / 1.03), Target("scipy", 1.05)),
    "band 5": _with_gathers_too(1.5),
    "band 30": _with_gathers_too(2.9),
    "band 100": _with_gathers_too(2.3),
    "triangle 1024": _with_gathers_too(3.0),
    "reverse permutation": (Target("hand C", 2.5), Target("taco columns", 2.5)),
}
NAMES = {"rows": "finch SparseList", "columns": "finch by columns", "symmetric": "finch symmetric"}
COMPLEX = ("scipy", "mkl", "sparse")
"""The peers that take complex matrices as they are."""


def matrices(data: Path | None, quick: bool) -> Iterator[tuple[str, Any, str]]:
    """Names, int32 CSR matrices and collections: the paper's synthetic ones, then real ones."""
    yield "random 100k x 10", generators.erdos_renyi(100_000, 10), ""
    for bandwidth in (5, 30, 100):
        yield f"band {bandwidth}", generators.banded(10_000, bandwidth), ""
    yield "triangle 1024", generators.triangle(1024), ""
    yield "reverse permutation", generators.reverse_permutation(1_000_000), ""
    yield "blocks of 8", generators.blocks(20_000, 8, 4), ""
    yield "grid 512 (pattern)", generators.grid(512), ""
    yield "rmat 15 x 8 (pattern)", generators.rmat(15, 8), ""
    if not quick:
        for name, matrix in real.packaged_matrices():
            yield name, matrix, real.collection(matrix)
        for name, matrix in real.matrices(data, kinds="iufc"):
            yield name, matrix, real.collection(matrix)


def candidates(matrix: Any) -> dict[str, Any]:
    """The formats by rows that the matrix's structure does not rule out, by name."""
    found = spmv_formats.measured(matrix)
    level = {
        SparseList: found.all_ones,
        SparseBlockList: found.block_length >= 1.5,
        SparseBand: found.band_filling > 0.3 and not found.all_ones,
        SparsePinpoint: found.most_in_a_row == 1,
        SparseInterval: found.most_runs_in_a_row == 1,
        Dense: found.density > 0.4,
    }
    element = Element(spmv_formats.zero(matrix))
    leaf = Pattern() if found.all_ones else element
    return dict(_named(kind, element if kind is Dense else leaf) for kind in level if level[kind])


def _named(kind: Any, leaf: Any) -> tuple[str, Any]:
    if kind is Dense:
        return label(Dense(Dense(leaf))), Dense(Dense(leaf))
    widths = {"index": np.int32}
    if kind not in (SparsePinpoint, SparseInterval):
        widths["pointer"] = np.int32
    format = Dense(kind(leaf, **widths))
    return label(format), format


def label(format: Any) -> str:
    """A matrix format by its inner level, and whether it stores values."""
    name = type(format.lvl).__name__
    return f"finch {name}" + (" of Pattern" if format.dtype == bool else "")


def ours(matrix: Any) -> tuple[dict[str, Any], str]:
    """The example's ways and the formats that may do, by name; and why one was chosen."""
    choice = spmv_formats.choose_format(matrix)
    chosen = label(choice.format)
    ways = {NAMES.get(n, chosen): run for n, run in spmv_formats.ways(matrix).items()}
    for name, format in candidates(matrix).items():
        if name not in ways:
            A = spmv_formats.stored(matrix, format)
            ways[name] = lambda y, x, A=A: spmv_formats.by_rows(y, A, x)
    return ways, f"{chosen.removeprefix('finch ')}: {choice.why}"


def race(name: str, matrix: Any, systems: Any, group: str = "") -> Race:
    """Our ways against theirs on one matrix."""
    zero = spmv_formats.zero(matrix)
    x = np.random.default_rng(1).random(matrix.shape[1]).astype(zero.dtype)
    ways, why = ours(matrix)
    mine = {
        way: lambda run=run, y=Tensor(Dense(Element(zero))), x=asarray(x): run(y, x)  # noqa: B008
        for way, run in ways.items()
    }
    if matrix.dtype.kind == "c":
        systems = {name: systems[name] for name in COMPLEX if name in systems}
    theirs = peers.contenders(systems, "spmv", matrix, x)
    if "taco-like" in theirs and "band" in name and not group:
        theirs.update(systems["hand"].spmv_band(matrix, x))
    return Race(
        name, mine, theirs, targets=TARGETS.get(name, ()), group=group, about=why,
        share=0.3 if group else 1.0,
    )  # fmt: skip


def races(systems: Any, data: Path | None, quick: bool) -> Iterator[Race]:
    for name, matrix, group in matrices(data, quick):
        yield race(name, matrix, systems, group)
