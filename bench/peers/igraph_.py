"""igraph."""

from __future__ import annotations

from typing import Any

import igraph
import numpy as np

from bench.peers import Contenders, Levels, remembered


@remembered
def _graph(graph: Any, directed: bool = True) -> tuple[Any, Any]:
    rows, columns = graph.tocoo().coords
    kept = np.ones(len(rows), dtype=bool) if directed else rows < columns
    edges = np.stack([rows[kept], columns[kept]], axis=1)
    return igraph.Graph(n=graph.shape[0], edges=edges, directed=directed), kept


def bfs(graph: Any, source: int) -> Contenders:
    found, _kept = _graph(graph)

    def run() -> Any:
        steps = found.distances(source=source)[0]
        return lambda: Levels(np.nan_to_num(np.array(steps, dtype=float), posinf=-1))

    return {"igraph": run}


def shortest_paths(graph: Any, source: int) -> Contenders:
    found, _kept = _graph(graph)
    lengths = graph.tocoo().data

    def run() -> Any:
        return found.distances(source=source, weights=lengths, algorithm="dijkstra")[0]

    return {"igraph dijkstra": run}


def pagerank(graph: Any) -> Contenders:
    found, _kept = _graph(graph)
    return {"igraph": lambda: found.pagerank(damping=0.85)}


def triangles(graph: Any) -> Contenders:
    found, _kept = _graph(graph, directed=False)
    return {"igraph": lambda: len(found.list_triangles())}


def components(graph: Any) -> Contenders:
    found, _kept = _graph(graph)
    return {"igraph": lambda: found.connected_components(mode="weak").membership}


def degrees(graph: Any) -> Contenders:
    found, _kept = _graph(graph)
    return {"igraph": found.outdegree}


def order(graph: Any) -> Contenders:
    found, _kept = _graph(graph)
    return {"igraph": lambda: found.topological_sorting(mode="out")}


def cores(graph: Any) -> Contenders:
    found, _kept = _graph(graph, directed=False)
    return {"igraph": lambda: np.array(found.coreness())}
