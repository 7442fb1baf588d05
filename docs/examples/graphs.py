"""Graph programs: each loop visits only what the graph and the frontier store.

    python docs/examples/graphs.py [graph.mtx or graph.mtx.gz]

``A[i, j]`` is the edge from ``i`` to ``j``, stored by ``i``; ``AT[j, i]`` is that edge stored by
``j``. (Paper, Figure "Graph Applications written in Finch".)
"""

from __future__ import annotations

import math
import sys
from typing import Any

import attrs
import numpy as np
import scipy.io
import scipy.sparse

from finch_core import Tensor, _, choose, follow, kernel
from finch_levels import (
    Dense,
    Element,
    Pattern,
    Scalar,
    ShortCircuitScalar,
    SparseByteMap,
    SparseList,
)

GRAPH = Dense(SparseList(Pattern(), index=np.int32, pointer=np.int32))
LENGTHS = Dense(SparseList(Element(math.inf), index=np.int32, pointer=np.int32))
FRONTIER = SparseByteMap(Pattern())


def stored(matrix: Any, format: Any = GRAPH) -> Tensor:
    """A SciPy matrix as a graph: which edges there are, or (``LENGTHS``) how long they are."""
    matrix = scipy.sparse.csr_array(matrix)
    if format.dtype == bool:
        return Tensor(format, matrix.astype(bool))
    matrix.sum_duplicates()
    index, pointer = format.lvl.index, format.lvl.pointer
    buffers = {
        "1_ptr": matrix.indptr.astype(pointer),
        "1_idx": matrix.indices.astype(index),
        "2_val": matrix.data.astype(format.dtype),
    }
    return Tensor.from_buffers(format, matrix.shape, buffers)


# -- breadth-first search ---------------------------------------------------------------------


@kernel
def push(next, frontier, A, visited, parents):
    """From each vertex of the frontier to its neighbours that were not visited."""
    next[...] = False
    for i, j in _:
        if frontier[i] and A[i, j] and not visited[j]:
            next[j] |= True
            parents[j] = i
    return next


@kernel
def pull(next, frontier, AT, visited, parents):
    """From each vertex that was not visited to the first neighbour that is in the frontier."""
    next[...] = False
    for j in _:
        if not visited[j]:
            p = ShortCircuitScalar(-1)
            for i in _:
                if frontier[follow(i)] and AT[j, i]:
                    p[()] = choose(-1)(p[()], i)
            if p[()] >= 0:
                next[j] |= True
                parents[j] = p[()]
    return next


@kernel
def visit(visited, frontier):
    """Take note of the frontier."""
    for j in _:
        if frontier[j]:
            visited[j] = True
    return visited


@attrs.frozen
class Tree:
    """A search from one vertex: each vertex's parent (-1: not reached), and the number of steps."""

    parents: Any
    depth: int


def breadth_first(A: Tensor, AT: Tensor, source: int, alpha: float = 0.02) -> Tree:
    """A breadth-first tree: each vertex's parent, the source's own being itself.

    A step pulls where the frontier is more than ``alpha`` of all vertices, else it pushes.
    """
    size = A.shape[0]
    parents, visited = np.full(size, -1), np.zeros(size, dtype=bool)
    parents[source] = source
    frontier, next = Tensor(FRONTIER, np.arange(size) == source), Tensor(FRONTIER, (size,))
    depth = 0
    while frontier.nstored:
        visit(visited, frontier)
        if frontier.nstored > alpha * size:
            pull(next, frontier, AT, visited, parents)
        else:
            push(next, frontier, A, visited, parents)
        frontier, next, depth = next, frontier, depth + 1
    return Tree(parents, depth)


@kernel
def _levels(levels, frontier, depth):
    for i in _:
        if frontier[i]:
            levels[i] = depth
    return levels


def levels(A: Tensor, source: int) -> Any:
    """How many edges each vertex is away from the source; -1 where it is out of reach."""
    size = A.shape[0]
    parents, found = np.full(size, -1), np.full(size, -1)
    visited = np.zeros(size, dtype=bool)
    frontier, next = Tensor(FRONTIER, np.arange(size) == source), Tensor(FRONTIER, (size,))
    depth = 0
    while frontier.nstored:
        _levels(found, frontier, depth)
        visit(visited, frontier)
        push(next, frontier, A, visited, parents)
        frontier, next, depth = next, frontier, depth + 1
    return found


# -- shortest paths ---------------------------------------------------------------------------


@kernel
def _relax(distances, before, active, next, edges):
    next[...] = False
    for i in _:
        if active[i]:
            for j in _:
                d = before[i] + edges[i, j]
                distances[j] = min(distances[j], d)
                next[j] |= d < before[j]
    return next


@kernel
def _keep(distances, before, active):
    for i in _:
        if active[i]:
            distances[i] = min(distances[i], before[i])
    return distances


@kernel
def _tree(parents, distances, edges):
    for i, j in _:
        d = edges[i, j]
        if distances[i] + d < math.inf and distances[i] + d <= distances[j]:
            parents[j] = choose(-1)(parents[j], i)
    return parents


class NegativeCycle(ValueError):
    """A cycle of negative length can be reached: there are no shortest paths."""


def bellman_ford(edges: Tensor, source: int) -> tuple[Any, Any]:
    """Distances from the source and each vertex's parent on a shortest path (-1: none).

    Raises ``NegativeCycle`` where one can be reached.
    """
    size = edges.shape[0]
    before, after = np.full(size, math.inf), np.full(size, math.inf)
    before[source] = 0.0
    active, next = Tensor(FRONTIER, np.arange(size) == source), Tensor(FRONTIER, (size,))
    for _round in range(size + 1):
        _keep(after, before, active)
        _relax(after, before, active, next, edges)
        if not next.nstored:
            break
        # what just improved is taken over at the start of the next round
        before, after, active, next = after, before, next, active
    else:
        raise NegativeCycle("a cycle of negative length can be reached from the source")
    parents = np.full(size, -1)
    parents[source] = source
    return after, _tree(parents, after, edges)


@kernel
def _through(D, row, column):
    for i, j in _:
        D[i, j] = min(D[i, j], column[i] + row[j])
    return D


def floyd_warshall(lengths: Any) -> Any:
    """All shortest distances, from a dense matrix of lengths (infinity: no edge)."""
    D = np.array(lengths, dtype=float)
    np.fill_diagonal(D, np.minimum(np.diag(D), 0.0))
    for k in range(D.shape[0]):
        _through(D, D[k].copy(), D[:, k].copy())
    return D


# -- ranks, counts and components -------------------------------------------------------------


@kernel
def _spread(next, ranks, AT, shares, base, damping):
    next[...] = 0
    for j in _:
        total = Scalar(0.0)
        for i in _:
            total[()] += AT[j, i] * shares[i]
        next[j] = base + damping * total[()]
    return next


@kernel
def degrees(d, A):
    """How many edges leave each vertex: its degree centrality, but for the scale."""
    d[...] = 0
    for i, j in _:
        d[i] += A[i, j]
    return d


def degree_centrality(A: Tensor) -> Any:
    """The part of all other vertices that each vertex has an edge to."""
    counts = degrees(Tensor(Dense(Element(0))), A).to_numpy()
    return counts / max(1, A.shape[0] - 1)


def pagerank(A: Tensor, AT: Tensor, damping: float = 0.85, tolerance: float = 1e-10) -> Any:
    """The ranks, which sum to one; vertices without edges give to all alike."""
    size = A.shape[0]
    out = degrees(Tensor(Dense(Element(0))), A).to_numpy()
    ranks, next = np.full(size, 1 / size), Tensor(Dense(Element(0.0)))
    while True:
        shares = np.divide(ranks, out, out=np.zeros(size), where=out > 0)
        base = (1 - damping + damping * ranks[out == 0].sum()) / size
        new = _spread(next, ranks, AT, shares, base, damping).to_numpy().copy()
        if np.abs(new - ranks).sum() < tolerance:
            return new
        ranks = new


@kernel
def _triangles(count, L):
    count[...] = 0
    for i, j, k in _:
        if L[i, j] and L[i, k] and L[j, k]:
            count[()] += 1
    return count


def triangles(matrix: Any) -> int:
    """How many triangles an undirected graph has: merges of its lower triangle's rows."""
    lower = stored(scipy.sparse.tril(scipy.sparse.csr_array(matrix), -1))
    return int(_triangles(Scalar(0), lower).value)


@kernel
def _least(next, labels, A):
    for i, j in _:
        if A[i, j]:
            next[i] = min(next[i], labels[j])
    return next


def components(A: Tensor) -> Any:
    """For each vertex of an undirected graph the least vertex that it is connected to."""
    labels = np.arange(A.shape[0])
    while True:
        next = _least(labels.copy(), labels, A)
        next = next[next]  # a shortcut: the label of the label
        if np.array_equal(next, labels):
            return labels
        labels = next


@kernel
def _remove(incoming, ready, A):
    for i, j in _:
        if ready[i] and A[i, j]:
            incoming[j] -= 1
    return incoming


def topological_order(A: Tensor) -> Any:
    """The vertices, each before all that it has an edge to; ``ValueError`` if there is a cycle."""
    size = A.shape[0]
    incoming, order = np.zeros(size, dtype=np.int64), []
    _remove(incoming, np.ones(size, dtype=bool), A)
    incoming = -incoming
    placed = np.zeros(size, dtype=bool)
    while not placed.all():
        ready = (incoming == 0) & ~placed
        if not ready.any():
            raise ValueError("the graph has a cycle")
        order.append(np.flatnonzero(ready))
        placed |= ready
        _remove(incoming, Tensor(FRONTIER, ready), A)
    return np.concatenate([np.zeros(0, dtype=np.int64), *order])


def main(arguments: list[str]) -> None:
    if arguments:
        matrix = scipy.sparse.csr_array(scipy.io.mmread(arguments[0]))
    else:
        path = scipy.sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(30, 30))
        one = scipy.sparse.eye_array(30)
        matrix = (scipy.sparse.kron(path, one) + scipy.sparse.kron(one, path)).tocsr()
    A, AT = stored(matrix), stored(matrix.T)
    tree = breadth_first(A, AT, 0)
    print(f"{A.shape[0]} vertices, {A.nstored} edges")
    print(f"{np.count_nonzero(tree.parents >= 0)} reached from 0, in {tree.depth - 1} steps")
    print(f"{triangles(matrix)} triangles, {len(np.unique(components(A)))} components")
    print(f"highest rank: vertex {np.argmax(pagerank(A, AT))}")


if __name__ == "__main__":
    main(sys.argv[1:])
