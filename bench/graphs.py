"""Breadth-first search and Bellman-Ford: the example's programs against GraphBLAS and SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import generators, peers
from bench.races import Race, Target
from docs.examples import graphs


def data_sets(data: Path | None, quick: bool) -> Iterator[tuple[str, Any, float]]:
    """Names, graphs, and how many times faster than GraphBLAS a search is asked to be."""
    yield "rmat 14 x 16" if quick else "rmat 16 x 16", generators.rmat(14 if quick else 16, 16), 2.0
    side = 256 if quick else 512
    yield f"grid {side} x {side}", generators.grid(side), 5.0
    if data is not None and not quick:
        for name, matrix in generators.from_folder(data):
            if matrix.shape[0] == matrix.shape[1] and (matrix != matrix.T).nnz == 0:
                yield name, matrix, 2.0


def levels(parents: Any, source: int) -> Any:
    """Parents as levels, so that different trees compare; refused where they are no tree."""
    parents = np.asarray(parents)
    found = np.full(len(parents), -1)
    found[source], depth = 0, 0
    while True:
        below = (found < 0) & (parents >= 0) & (found[parents] == depth)
        if not below.any():
            return found
        depth += 1
        found[below] = depth


def search(name: str, graph: Any, source: int, systems: Any, times: float) -> Race:
    A, AT = graphs.stored(graph), graphs.stored(graph.T)
    ours = {
        "finch push-pull": lambda: graphs.breadth_first(A, AT, source).parents,
        "finch push": lambda: graphs.breadth_first(A, AT, source, alpha=2.0).parents,
    }
    theirs = peers.contenders(systems, "bfs", graph, source)
    asked = (Target("graphblas", times),)
    return Race(f"BFS {name}", ours, theirs, lambda p: levels(p, source), asked, exact=True)


def shortest(name: str, graph: Any, source: int, systems: Any) -> Race:
    lengths = generators.weighted(graph)
    edges = graphs.stored(lengths, graphs.LENGTHS)
    ours = {"finch": lambda: graphs.bellman_ford(edges, source)[0]}
    theirs = peers.contenders(systems, "bellman_ford", lengths, source)
    return Race(f"Bellman-Ford {name}", ours, theirs, targets=(Target("graphblas", 3.5),))


def races(systems: Any, data: Path | None, quick: bool) -> Iterator[Race]:
    for name, graph, times in data_sets(data, quick):
        source = int(np.argmax(np.diff(graph.indptr)))
        yield search(name, graph, source, systems, times)
        yield shortest(name, graph, source, systems)
