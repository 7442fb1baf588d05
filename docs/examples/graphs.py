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

from finch_core import Tensor, _, asarray, choose, follow, kernel
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
FRONTIER = SparseByteMap(Pattern(), index=np.int32, pointer=np.int32)


def stored(matrix: Any, format: Any = GRAPH) -> Tensor:
    """A SciPy matrix as a graph: a tensor of bools, True for each edge, or of edge lengths
    (``LENGTHS``)."""
    matrix = _edges(matrix, format)
    if format.dtype == bool:
        return Tensor(format, matrix)
    matrix.sum_duplicates()
    index, pointer = format.lvl.index, format.lvl.pointer
    buffers = {
        "1_ptr": matrix.indptr.astype(pointer),
        "1_idx": matrix.indices.astype(index),
        "2_val": matrix.data.astype(format.dtype),
    }
    return Tensor.from_buffers(format, matrix.shape, buffers)


def _edges(matrix: Any, format: Any) -> Any:
    """A SciPy matrix as CSR; for a format of bools, every stored value is True."""
    matrix = scipy.sparse.csr_array(matrix)
    if format.dtype != bool:
        return matrix
    edges = (np.ones(len(matrix.indices), bool), matrix.indices, matrix.indptr)
    return scipy.sparse.csr_array(edges, shape=matrix.shape)


def both_ways(matrix: Any, format: Any = GRAPH) -> tuple[Tensor, Tensor]:
    """A graph stored by the source and by the target of its edges; the same tensor twice if the
    graph is undirected."""
    matrix = _edges(matrix, format)
    A = stored(matrix, format)
    return A, A if (matrix != matrix.T).nnz == 0 else stored(matrix.T, format)


# -- breadth-first search ---------------------------------------------------------------------


@kernel
def start(frontier, A, work, source):
    """The frontier of one vertex. ``work`` counts the edges that leave the frontier, here and
    below."""
    frontier[...] = False
    frontier[source] |= True
    work[...] = 0
    for i, j in _:
        if frontier[i] and A[i, j]:
            work[()] += 1
    return frontier


@kernel
def push(next, frontier, A, visited, parents, work):
    """Push: from each vertex of the frontier to its unvisited neighbours."""
    for i in _:
        if frontier[i]:
            visited[i] = True
    next[...] = False
    for i, j in _:
        if frontier[i] and A[i, j] and not visited[j]:
            next[j] |= True
            parents[j] = i
    work[...] = 0
    for i, j in _:
        if next[i] and A[i, j]:
            work[()] += 1
    return next


@kernel
def pull(next, frontier, A, AT, visited, parents, work):
    """Pull: from each unvisited vertex to its first neighbour in the frontier."""
    for i in _:
        if frontier[i]:
            visited[i] = True
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
    work[...] = 0
    for i, j in _:
        if next[i] and A[i, j]:
            work[()] += 1
    return next


@attrs.frozen
class Tree:
    """A breadth-first tree: the parent of each vertex (-1: not reached), and the depth."""

    parents: Any
    depth: int


def breadth_first(A: Tensor, AT: Tensor, source: int, alpha: float = 0.05) -> Tree:
    """A breadth-first tree: each vertex's parent, the source's own being itself.

    A step pulls if more than a fraction ``alpha`` of all edges leave the frontier, else it pushes.
    """
    size, many = A.shape[0], alpha * A.nstored
    tree, leaving = np.full(size, -1, np.int32), np.zeros((), np.int64)
    tree[source] = source
    parents, work = asarray(tree), asarray(leaving)  # tensors over the arrays' memory
    visited = Tensor(Dense(Element(False)), (size,))
    frontier, next, depth = Tensor(FRONTIER, (size,)), Tensor(FRONTIER, (size,)), 0
    start(frontier, A, work, source)
    while leaving:
        if leaving > many:
            pull(next, frontier, A, AT, visited, parents, work)
        else:
            push(next, frontier, A, visited, parents, work)
        frontier, next, depth = next, frontier, depth + 1
    return Tree(tree, depth + (frontier.nstored > 0))


@kernel
def _levels(levels, frontier, depth):
    for i in _:
        if frontier[i]:
            levels[i] = depth
    return levels


def levels(A: Tensor, source: int) -> Any:
    """The number of edges from the source to each vertex; -1 for unreachable vertices."""
    size = A.shape[0]
    parents, found = np.full(size, -1, np.int32), np.full(size, -1)
    visited, work = np.zeros(size, dtype=bool), np.zeros((), np.int64)
    frontier, next = Tensor(FRONTIER, (size,)), Tensor(FRONTIER, (size,))
    depth = 0
    start(frontier, A, work, source)
    while frontier.nstored:
        _levels(found, frontier, depth)
        push(next, frontier, A, visited, parents, work)
        frontier, next, depth = next, frontier, depth + 1
    return found


# -- shortest paths ---------------------------------------------------------------------------


@attrs.frozen
class Network:
    """A graph's edge lengths, stored by source and by target; the out-degrees; the least length."""

    edges: Tensor
    reverse: Tensor
    degrees: Any
    least: float


def network(matrix: Any) -> Network:
    """The ``Network`` of a SciPy matrix of lengths; it serves shortest paths from any vertex."""
    matrix = scipy.sparse.csr_array(matrix)
    edges, reverse = both_ways(matrix, LENGTHS)
    least = np.min(edges.buffers["2_val"], initial=math.inf)
    return Network(edges, reverse, np.diff(matrix.indptr), float(least))


@kernel
def _only(active, source):
    active[...] = False
    active[source] |= True
    return active


@kernel
def _push_lengths(after, before, active, next, edges, degrees, work, near):
    """Push: copy the distances that improved, and update those of their neighbours."""
    for i in _:
        if active[i]:
            after[i] = before[i]
    next[...] = False
    for i in _:
        if active[i]:
            for j in _:
                d = before[i] + edges[i, j]
                if d < before[j]:
                    after[j] = min(after[j], d)
                    next[j] |= True
    work[...] = 0
    near[...] = math.inf
    for j in _:
        if next[j]:
            work[()] += degrees[j]
            near[()] = min(near[()], after[j])
    return next


@kernel
def _pull_lengths(after, before, next, reverse, degrees, work, near, bound):
    """Pull: update each vertex from its neighbours, unless its distance is within ``bound``."""
    next[...] = False
    for j in _:
        after[j] = before[j]
    for j in _:
        if before[j] > bound:
            d = Scalar(math.inf)
            for i in _:
                d[()] = min(d[()], before[i] + reverse[j, i])
            after[j] = min(before[j], d[()])
            next[j] |= d[()] < before[j]
    work[...] = 0
    near[...] = math.inf
    for j in _:
        if next[j]:
            work[()] += degrees[j]
            near[()] = min(near[()], after[j])
    return next


@kernel
def _tree(parents, distances, edges):
    for i, j in _:
        d = edges[i, j]
        if distances[i] + d < math.inf and distances[i] + d <= distances[j]:
            parents[j] = choose(-1)(parents[j], i)
    return parents


class NegativeCycle(ValueError):
    """Raised if a cycle of negative length is reachable, so that there are no shortest paths."""


def distances(graph: Network, source: int, alpha: float = 0.1) -> Any:
    """The length of the shortest path from the source to each vertex; infinity if there is none.

    A round pulls if more than a fraction ``alpha`` of all edges start at a vertex that improved in
    the last round, else it pushes. New paths end with an edge from such a vertex, so none is
    shorter than the least distance of those vertices plus the least edge length; a pull skips
    vertices that are within this bound. Raises ``NegativeCycle`` if one is reachable.
    """
    size, many = len(graph.degrees), alpha * graph.edges.nstored
    before, after = np.full(size, math.inf), np.full(size, math.inf)
    before[source] = 0.0
    active, next = Tensor(FRONTIER, (size,)), Tensor(FRONTIER, (size,))
    work, near, bound = np.array(graph.degrees[source]), Scalar(math.inf), graph.least
    _only(active, source)
    for _round in range(size):
        if not (leaving := int(work)):
            return before
        if leaving > many:
            _pull_lengths(after, before, next, graph.reverse, graph.degrees, work, near, bound)
        else:
            _push_lengths(after, before, active, next, graph.edges, graph.degrees, work, near)
        bound = near.value + graph.least
        before, after, active, next = after, before, next, active
    if work:
        raise NegativeCycle("a cycle of negative length can be reached from the source")
    return before


def bellman_ford(graph: Network, source: int) -> tuple[Any, Any]:
    """Distances from the source, and the parent of each vertex on a shortest path (-1: none).

    Raises ``NegativeCycle`` if one is reachable.
    """
    found = distances(graph, source)
    parents = np.full(len(found), -1)
    parents[source] = source
    return found, _tree(parents, found, graph.edges)


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
    """The out-degree of each vertex."""
    d[...] = 0
    for i, j in _:
        d[i] += A[i, j]
    return d


def degree_centrality(A: Tensor) -> Any:
    """The fraction of the other vertices to which each vertex has an edge."""
    counts = degrees(Tensor(Dense(Element(0))), A).to_numpy()
    return counts / max(1, A.shape[0] - 1)


def pagerank(A: Tensor, AT: Tensor, damping: float = 0.85, tolerance: float = 1e-10) -> Any:
    """The PageRank of each vertex; they sum to one. Vertices without edges distribute evenly."""
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
    """The number of triangles of an undirected graph, by merging rows of its lower triangle."""
    lower = stored(scipy.sparse.tril(scipy.sparse.csr_array(matrix), -1))
    return int(_triangles(Scalar(0), lower).value)


@kernel
def _least(next, labels, A, settled):
    for i in _:
        if not settled[i]:
            for j in _:
                if A[i, j]:
                    next[i] = min(next[i], labels[j])
    return next


def components(A: Tensor) -> Any:
    """For each vertex of an undirected graph, the least vertex of its connected component.

    A search from the vertex of the highest degree usually finds the largest component. In the rest
    of the graph, vertices take the least label of their neighbours until nothing changes.
    """
    labels = np.arange(A.shape[0])
    if not len(labels):
        return labels
    hub = int(degrees(Tensor(Dense(Element(0))), A).to_numpy().argmax())
    settled = breadth_first(A, A, hub).parents >= 0
    labels[settled] = settled.argmax()
    while not settled.all():
        next = _least(labels.copy(), labels, A, settled)
        next = next[next]  # a shortcut: the label of the label
        if np.array_equal(next, labels):
            break
        labels = next
    return labels


@kernel
def _incoming(incoming, A):
    incoming[...] = 0
    for i, j in _:
        if A[i, j]:
            incoming[j] += 1
    return incoming


@kernel
def _layer(next, ready, incoming, layers, A, layer):
    """Assign the ready vertices to a layer and remove their edges; vertices without incoming edges
    are ready next."""
    for i in _:
        if ready[i]:
            layers[i] = layer[()]
    for i, j in _:
        if ready[i] and A[i, j]:
            incoming[j] -= 1
    next[...] = False
    for i, j in _:
        if ready[i] and A[i, j] and incoming[j] == 0:
            next[j] |= True
    return next


def topological_order(A: Tensor) -> Any:
    """The vertices in topological order. Raises ``ValueError`` if there is a cycle."""
    incoming = _incoming(Tensor(Dense(Element(np.int32(0)))), A)
    layers, layer = np.full(A.shape[0], -1), np.zeros((), np.int64)
    placed, number = asarray(layers), asarray(layer)  # tensors over the arrays' memory
    ready = Tensor(FRONTIER, incoming.to_numpy() == 0)
    next = Tensor(FRONTIER, A.shape[:1])
    while ready.nstored:
        _layer(next, ready, incoming, placed, A, number)
        ready, next = next, ready
        layer += 1
    if np.any(layers < 0):
        raise ValueError("the graph has a cycle")
    return np.argsort(layers)


def main(arguments: list[str]) -> None:
    if arguments:
        matrix = scipy.sparse.csr_array(scipy.io.mmread(arguments[0]))
    else:
        path = scipy.sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(30, 30))
        one = scipy.sparse.eye_array(30)
        matrix = (scipy.sparse.kron(path, one) + scipy.sparse.kron(one, path)).tocsr()
    A, AT = both_ways(matrix)
    tree = breadth_first(A, AT, 0)
    print(f"{A.shape[0]} vertices, {A.nstored} edges")
    print(f"{np.count_nonzero(tree.parents >= 0)} reached from 0, in {tree.depth - 1} steps")
    print(f"{triangles(matrix)} triangles, {len(np.unique(components(A)))} components")
    print(f"highest rank: vertex {np.argmax(pagerank(A, AT))}")


if __name__ == "__main__":
    main(sys.argv[1:])
