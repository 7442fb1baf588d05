"""The figures of the paper's evaluation, and what was measured here for each.

The base of each comparison is the paper's own; where TACO itself is missing, the loops like those
that it emits stand in, and are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from bench.races import mean

Row = Mapping[str, Any]


@attrs.frozen
class Claim:
    """One number of the paper: ``speedup`` of its best over ``base`` on ``what``."""

    figure: str
    what: str
    command: str
    base: str
    speedup: float
    chosen: Callable[[Row], bool]
    """Which of a command's rows it is about."""


def _named(*names: str) -> Callable[[Row], bool]:
    return lambda row: row["data"] in names


def _of(work: str, group: str | None = None) -> Callable[[Row], bool]:
    return lambda row: row.get("work") == work and group in (None, row.get("group", ""))


def _but(*groups: str) -> Callable[[Row], bool]:
    """All but curves, and matrices that are far smaller than the paper's."""
    return lambda row: row.get("group") not in ("scaling", *groups)


SPMV, SPGEMM = "SpMV, by best format", "SpGEMM"
GRAPHS, IMAGES = "graph analytics", "image morphology"
CLAIMS = (
    Claim(SPMV, "synthetic and large real matrices", "spmv", "taco", 1.27,
          _but("small matrices", "medium matrices")),
    Claim(SPMV, "band 100", "spmv", "taco", 2.50, _named("band 100")),
    Claim(SPMV, "band 30", "spmv", "taco", 2.02, _named("band 30")),
    Claim(SPMV, "triangle 1024", "spmv", "taco", 3.04, _named("triangle 1024")),
    Claim(SPMV, "reverse permutation", "spmv", "taco", 1.30, _named("reverse permutation")),
    Claim(SPMV, "ca-AstroPh", "spmv", "taco", 1.17, _named("ca-AstroPh")),
    Claim(SPGEMM, "synthetic, medium and large real matrices", "spgemm", "taco", 1.30,
          _but("small matrices")),
    Claim(GRAPHS, "BFS", "graphs", "graphblas", 1 / 1.22, _of("BFS")),
    Claim(GRAPHS, "Bellman-Ford", "graphs", "graphblas", 2.47, _of("Bellman-Ford")),
    Claim(IMAGES, "erosion, sketches", "images", "opencv", 19.5,
          _of("erosion", "tu_berlin_sketches_150px")),
    Claim(IMAGES, "erosion, sketches, magnified", "images", "opencv", 266,
          _of("erosion", "tu_berlin_sketches_150px x 8")),
    Claim(IMAGES, "erosion, MNIST", "images", "opencv", 51.6, _of("erosion", "mnist")),
    Claim(IMAGES, "histogram, sketches", "images", "opencv", 20.8,
          _of("histogram", "tu_berlin_sketches_150px")),
    Claim(IMAGES, "histogram, Omniglot", "images", "opencv", 20.3, _of("histogram", "omniglot")),
)  # fmt: skip

STANDS_IN = {"taco": "taco-like"}


def base_of(claim: Claim, rows: Iterable[Row]) -> str:
    """The base of a claim, or what stands in for it."""
    there = {peer for row in rows for peer in row["ratios"]}
    return claim.base if claim.base in there else STANDS_IN.get(claim.base, claim.base)


def base_time(row: Row, base: str) -> float | None:
    """The base's microseconds: TACO's are the best of its row-major and column-major ones."""
    times = [row["us"][name] for name in (base, f"{base} columns") if name in row["us"]]
    return min(times) if times else None


def measured(claim: Claim, races: Mapping[str, list[Row]]) -> dict[str, Any]:
    """A row of the table beside the paper: speedups over the base, as geometric means."""
    rows = [row for row in races.get(claim.command, []) if claim.chosen(row)]
    base = base_of(claim, rows)
    ours: list[float] = []
    theirs: dict[str, list[float]] = {}
    for row in rows:
        if (least := base_time(row, base)) is None:
            continue
        ours.append(least / row["us"][row["best"]])
        for peer in row["ratios"]:
            if peer not in (base, f"{base} columns"):
                theirs.setdefault(peer, []).append(least / row["us"][peer])
    return {
        "figure": claim.figure,
        "what": claim.what,
        "data sets": len(ours),
        "over": base,
        "paper": claim.speedup,
        "ours": mean(ours) if ours else "",
        "peers": {peer: mean(found) for peer, found in theirs.items()},
    }


def table(races: Mapping[str, list[Row]]) -> list[dict[str, Any]]:
    """All claims whose command ran."""
    return [measured(claim, races) for claim in CLAIMS if claim.command in races]
