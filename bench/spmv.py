"""SpMV: every program and format of the example against the peers, on the paper's matrices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import generators, peers
from bench.races import Race, Target
from docs.examples import spmv_formats
from finch_core import Tensor
from finch_levels import Dense, Element

TARGETS = {
    "random 100k x 10": (Target("taco-like", 1 / 1.03), Target("scipy", 1.05)),
    "band 5": (Target("taco-like", 1.5),),
    "band 30": (Target("taco-like", 2.9),),
    "band 100": (Target("taco-like", 2.3),),
    "triangle 1024": (Target("taco-like", 3.0),),
    "reverse permutation": (Target("hand C", 2.5),),
}


def matrices(data: Path | None, quick: bool) -> Iterator[tuple[str, Any]]:
    """Names and int32 CSR matrices: the paper's synthetic ones, then those of a folder."""
    yield "random 100k x 10", generators.erdos_renyi(100_000, 10)
    for bandwidth in (5, 30, 100):
        yield f"band {bandwidth}", generators.banded(10_000, bandwidth)
    yield "triangle 1024", generators.triangle(1024)
    yield "reverse permutation", generators.reverse_permutation(1_000_000)
    yield "blocks of 8", generators.blocks(20_000, 8, 4)
    yield "grid 512 (pattern)", generators.grid(512)
    yield "rmat 15 x 8 (pattern)", generators.rmat(15, 8)
    if data is not None and not quick:
        yield from generators.from_folder(data)


def race(name: str, matrix: Any, systems: Any) -> Race:
    """Our ways against theirs on one matrix."""
    x = np.random.default_rng(1).random(matrix.shape[1])
    ours = {
        f"finch {way}": lambda run=run, y=Tensor(Dense(Element(0.0))): run(y, x)  # noqa: B008
        for way, run in spmv_formats.ways(matrix).items()
    }
    theirs = peers.contenders(systems, "spmv", matrix, x)
    if "taco-like" in theirs and "band" in name:
        theirs.update(systems["hand"].spmv_band(matrix, x))
    return Race(name, ours, theirs, targets=TARGETS.get(name, ()))


def races(systems: Any, data: Path | None, quick: bool) -> Iterator[Race]:
    for name, matrix in matrices(data, quick):
        yield race(name, matrix, systems)
