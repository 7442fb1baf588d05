"""Graph programs of the example against GraphBLAS, SciPy, igraph and NetworKit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from bench import data as real
from bench import generators, peers
from bench.peers import Levels
from bench.races import Race, Target
from docs.examples import graphs
from finch_core import Tensor
from finch_levels import Dense, Element, Scalar

SMALL = 600
"""Vertices up to which all pairs of them are looked at."""


def data_sets(quick: bool) -> Iterator[tuple[str, Any, float, str]]:
    """Names, graphs, how many times faster than GraphBLAS searches shall be, and collections."""
    scale, side = (14, 256) if quick else (16, 512)
    yield f"rmat {scale} x 16", generators.rmat(scale, 16), 2.0, ""
    yield f"grid {side} x {side}", generators.grid(side), 5.0, ""


def real_graphs(data: Path | None) -> Iterator[tuple[str, Any, float, str]]:
    for name, graph in real.graphs(data):
        yield name, graph, 2.0, "real graphs"


def levels(result: Any, source: int) -> Any:
    """Parents as levels, so that different trees compare; refused where they are no tree."""
    if isinstance(result, Levels):
        return np.asarray(result.steps).astype(np.int64)
    above = np.asarray(result).astype(np.int64)
    lost = above < 0
    above[lost] = np.flatnonzero(lost)
    above[source] = source
    steps = (above != np.arange(len(above))).astype(np.int64)
    for _doubling in range(max(1, len(above)).bit_length()):
        steps, above = steps + steps[above], above[above]
    return np.where(above == source, steps, -1)


def least_members(labels: Any) -> Any:
    """Components by their least vertex, whatever they are called."""
    _names, first, component = np.unique(labels, return_index=True, return_inverse=True)
    return first[component]


def search(name: str, graph: Any, source: int, systems: Any, times: float, group: str) -> Race:
    A, AT = graphs.both_ways(graph)
    ours = {
        "finch push-pull": lambda: graphs.breadth_first(A, AT, source),
        "finch push": lambda: graphs.breadth_first(A, AT, source, alpha=2.0),
    }
    return Race(
        name, ours, peers.contenders(systems, "bfs", graph, source), lambda p: levels(p, source),
        () if group else (Target("graphblas", times),), exact=True, work="BFS", group=group,
        share=_share(group),
    )  # fmt: skip


def shortest(name: str, graph: Any, source: int, systems: Any, group: str) -> Race:
    lengths = generators.weighted(graph)
    roads = graphs.network(lengths)
    ours = {
        "finch push-pull": lambda: graphs.distances(roads, source),
        "finch push": lambda: graphs.distances(roads, source, alpha=2.0),
    }
    theirs = peers.contenders(systems, "shortest_paths", lengths, source)
    asked = () if group else (Target("graphblas", 3.5),)
    return Race(
        name, ours, theirs, targets=asked, work="Bellman-Ford", group=group, share=_share(group)
    )


def _share(group: str) -> float:
    return 0.3 if group else 1.0


def others(name: str, graph: Any, systems: Any, group: str) -> Iterator[Race]:
    """The rest of the example's programs, on a directed or undirected graph."""
    (A, AT), share = graphs.both_ways(graph), _share(group)
    both = generators.int32(graph + graph.T)
    both.data[:] = 1

    def of(work: str, run: Any, *given: Any, **more: Any) -> Race:
        theirs = peers.contenders(systems, work, *given)
        return Race(name, {"finch": run}, theirs, work=work, group=group, share=share, **more)

    yield of("pagerank", lambda: graphs.pagerank(A, AT), graph, tolerance=1e-6)
    count = Tensor(Dense(Element(0)))
    yield of("degrees", lambda: graphs.degrees(count, A), graph, value=_array)
    lower = graphs.stored(scipy.sparse.tril(both, -1))
    counted = lambda: graphs._triangles(Scalar(0), lower).value  # noqa: E731
    yield of("triangles", counted, both, exact=True)
    undirected = graphs.stored(both)
    yield of("components", lambda: graphs.components(undirected), both, value=least_members)


def small(systems: Any) -> Iterator[Race]:
    """What is for small graphs, or for those without cycles."""
    graph = generators.erdos_renyi(SMALL // 2, 8)
    graph.setdiag(0)
    graph.eliminate_zeros()
    dense = np.where(graph.toarray() > 0, graph.toarray(), np.inf)
    ours = {"finch": lambda: graphs.floyd_warshall(dense)}
    theirs = peers.contenders(systems, "all_pairs", graph)
    yield Race(f"ER {SMALL // 2} x 8", ours, theirs, work="Floyd-Warshall")
    directed = generators.acyclic(20_000, 8)
    A = graphs.stored(directed)
    ours = {"finch": lambda: graphs.topological_order(A)}
    theirs = peers.contenders(systems, "order", directed)
    yield Race(
        "acyclic 20k x 4", ours, theirs, lambda order: in_order(order, directed), work="order"
    )


def in_order(order: Any, graph: Any) -> Any:
    """Whether each vertex is before all that it has an edge to, and none is left out."""
    place = np.empty(graph.shape[0], dtype=np.int64)
    place[np.asarray(order)] = np.arange(graph.shape[0])
    rows, columns = graph.tocoo().coords
    whole = np.array_equal(np.sort(order), np.arange(graph.shape[0]))
    if not whole or not np.all(place[rows] < place[columns]):
        raise AssertionError("this is no topological order")
    return np.ones(1)


def _array(found: Any) -> Any:
    return found.to_numpy() if isinstance(found, Tensor) else np.asarray(found)


def many_levels(systems: Any) -> Iterator[Race]:
    """A path from its end. GraphBLAS takes no part: it makes some calls for each level."""
    own = {name: peer for name, peer in systems.items() if name not in ("graphblas", "lagraph")}
    graph = generators.path(200_000)
    yield search("path 200k", graph, 0, own, 0.0, "many levels")
    yield shortest("path 200k", graph, 0, own, "many levels")


def races(systems: Any, data: Path | None, quick: bool) -> Iterator[Race]:
    yield from small(systems)
    yield from many_levels(systems)
    sets = data_sets(quick) if quick else itertools.chain(data_sets(quick), real_graphs(data))
    for name, graph, times, group in sets:
        source = int(np.argmax(np.diff(graph.indptr)))
        yield search(name, graph, source, systems, times, group)
        yield shortest(name, graph, source, systems, group)
        yield from others(name, graph, systems, group)
