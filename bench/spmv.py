"""SpMV: every program and format of the example against the peers, on the paper's matrices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import data as real
from bench import generators, peers
from bench.races import Race, Target, over_taco
from docs.examples import spmv_formats
from finch_core.runtime.format_choice import Choice
from finch_levels import Dense, choose_format


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
FRESH = "finch fresh"
"""What was chosen, with a result that is made anew in each call (``np.empty``)."""
ANEW = ("scipy", "mkl fresh", "graphblas", "sparse", "finch-tensor", "numpy dense")
"""The peers that make their result anew in each call."""
COMPLEX = ("scipy", "mkl", "sparse")
"""The peers that take complex matrices as they are."""
SEVEN = (-100, -10, -1, 0, 1, 10, 100)


def matrices(data: Path | None, quick: bool) -> Iterator[tuple[str, Any, str]]:
    """Names, int32 CSR matrices and collections: the paper's synthetic ones, then real ones.
    Zeros that are stored explicitly are left out, for all contenders."""
    yield "random 100k x 10", generators.erdos_renyi(100_000, 10), ""
    for bandwidth in (5, 30, 100):
        yield f"band {bandwidth}", generators.banded(10_000, bandwidth), ""
    yield "triangle 1024", generators.triangle(1024), ""
    yield "reverse permutation", generators.reverse_permutation(1_000_000), ""
    yield "blocks of 8", generators.blocks(20_000, 8, 4), ""
    yield "grid 512 (pattern)", generators.grid(512), ""
    yield "rmat 15 x 8 (pattern)", generators.rmat(15, 8), ""
    yield "seven diagonals", generators.diagonals(100_000, SEVEN), ""
    yield "stencil of 7", generators.stencil(40, 1), ""
    yield "stencil of 27", generators.stencil(30, 3), ""
    yield "symmetric 50k x 10", generators.symmetric(50_000, 5), ""
    if not quick:
        for name, matrix in (*real.packaged_matrices(), *real.matrices(data, kinds="iufc")):
            matrix.eliminate_zeros()
            yield name, matrix, real.collection(matrix)


def label(format: Any, symmetric: bool = False) -> str:
    """A matrix format by its inner level, and whether it stores values."""
    if symmetric:
        return NAMES["symmetric"]
    name = type(format.lvl).__name__
    return f"finch {name}" + (" of Pattern" if format.dtype == bool else "")


def candidates(choice: Choice) -> dict[str, Any]:
    """The formats of rows that are not estimated to take more than twice what the best takes."""
    found: dict[str, Any] = {}
    for candidate in choice.candidates:
        format, level = candidate.format, candidate.format.lvl
        if candidate.symmetric or type(format) is not Dense or level.is_leaf:
            continue
        if candidate.time < 2 * choice.best.time:
            found.setdefault(label(format), format)
    return found


def ours(matrix: Any) -> tuple[dict[str, Any], dict[str, Any], Choice]:
    """The example's ways and the formats that may do, by name; how those that convert the matrix
    do it; and what was chosen."""
    choice = choose_format(matrix, pattern=True, symmetric=matrix.dtype.kind != "c")
    ways = spmv_formats.ways(matrix)
    del ways["chosen"]
    found = {NAMES[name]: way for name, way in ways.items()}
    conversions = {NAMES["symmetric"]: lambda: spmv_formats._symmetric(matrix)}
    formats = candidates(choice)
    if not choice.symmetric:
        formats[label(choice.format)] = choice.format
    for name, format in formats.items():
        if name not in found:
            convert = partial(spmv_formats.stored, matrix, format)
            found[name], conversions[name] = spmv_formats._rows(convert()), convert
    return found, conversions, choice


def race(name: str, matrix: Any, systems: Any, group: str = "") -> Race:
    """Our ways against theirs on one matrix; what ``choose_format`` names is compared. Calls are
    bound, as those that are repeated on the same vectors are, and as those of C are."""
    zero = spmv_formats.zero(matrix)
    x = peers.aligned(np.random.default_rng(1).random(matrix.shape[1]).astype(zero.dtype))
    ways, conversions, choice = ours(matrix)
    chosen = label(choice.format, choice.symmetric)
    chosen = chosen if chosen in ways else NAMES["rows"]
    rows, dtype = matrix.shape[0], zero.dtype
    mine = {way: run.bind(peers.aligned(np.empty(rows, dtype)), x) for way, run in ways.items()}
    mine |= {way: peers.converted(mine[way], c) for way, c in conversions.items() if way in mine}
    mine[FRESH] = lambda: ways[chosen](np.empty(rows, dtype), x)
    if matrix.dtype.kind == "c":
        systems = {name: systems[name] for name in COMPLEX if name in systems}
    theirs = peers.contenders(systems, "spmv", matrix, x)
    if "taco-like" in theirs and "band" in name and not group:
        theirs.update(systems["hand"].spmv_band(matrix, x))
    return Race(
        name, mine, theirs, targets=TARGETS.get(name, ()), group=group,
        about=f"{chosen.removeprefix('finch ')}: {choice.why}", share=0.3 if group else 1.0,
        rule=chosen, fresh={peer: FRESH for peer in ANEW if peer in theirs},
    )  # fmt: skip


def races(systems: Any, data: Path | None, quick: bool) -> Iterator[Race]:
    for name, matrix, group in matrices(data, quick):
        yield race(name, matrix, systems, group)
