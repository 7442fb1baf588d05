"""NetworKit, on one thread."""

from __future__ import annotations

from typing import Any

import networkit as nk
import numpy as np
import scipy.sparse

from bench.peers import Contenders, Levels, remembered

nk.setNumberOfThreads(1)


@remembered
def _graph(graph: Any, weighted: bool = False, directed: bool = True) -> Any:
    entries = (graph if directed else scipy.sparse.triu(graph, 1)).tocoo()
    where = tuple(index.astype(np.uint64) for index in entries.coords)
    triples = (entries.data.astype(float), where)  # of a matrix it would leave the values out
    return nk.GraphFromCoo(triples, n=graph.shape[0], weighted=weighted, directed=directed)


def bfs(graph: Any, source: int) -> Contenders:
    found, size = _graph(graph), graph.shape[0]

    def run() -> Any:
        search = nk.distance.BFS(found, source, storePaths=False)
        search.run()
        steps = search.getDistances()
        return lambda: Levels(np.where(np.array(steps) > size, -1, np.array(steps)))

    return {"networkit": run}


def shortest_paths(graph: Any, source: int) -> Contenders:
    found = _graph(graph, weighted=True)

    def run() -> Any:
        search = nk.distance.Dijkstra(found, source, storePaths=False)
        search.run()
        far = search.getDistances()
        return lambda: np.where(np.array(far) > 1e300, np.inf, np.array(far))

    return {"networkit dijkstra": run}


def components(graph: Any) -> Contenders:
    found = _graph(graph, directed=False)

    def run() -> Any:
        search = nk.components.ConnectedComponents(found)
        search.run()
        return lambda: search.getPartition().getVector()

    return {"networkit": run}
