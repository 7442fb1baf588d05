"""Graph programs, each in one call: loops that visit only what the graph stores, and queues.

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

from finch_core import Tensor, _, choose, kernel, parallel
from finch_levels import Dense, Element, Pattern, Scalar, SparseList

GRAPH = Dense(SparseList(Pattern(), index=np.int32, pointer=np.int32))
LENGTHS = Dense(SparseList(Element(math.inf), index=np.int32, pointer=np.int32))
VERTICES = Dense(Element(np.int32(0)))


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


# -- searches ---------------------------------------------------------------------------------


@kernel
def _search(parents, A, AT, source, many):
    """Push: from each vertex of the last level, a part of the queue, to its unvisited neighbours;
    or pull: from each unvisited vertex to its first neighbour in that level."""
    n = len(parents)
    queue = Tensor(VERTICES, (n,))
    level = Tensor(Dense(Element(False)), (n,))
    reached = Tensor(SparseList(Pattern(), index=np.int32), (n,))
    for i in _:
        parents[i] = -1
    parents[source] = source
    queue[0] = source
    first = 0
    last = 1
    while first < last:
        end = last
        if end - first > many:
            level[...] = False
            for q in range(first, end):
                level[queue[q]] = True
            reached[...] = False
            for j in parallel(_):
                if parents[j] < 0:
                    for i in _:
                        if AT[j, i] and level[i]:
                            parents[j] = i
                            reached[j] = True
                            break
            for j in _:
                if reached[j]:
                    queue[last] = j
                    last += 1
        else:
            for q in range(first, end):
                i = queue[q]
                for j in _:
                    if A[i, j] and parents[j] < 0:
                        parents[j] = i
                        queue[last] = j
                        last += 1
        first = end


def breadth_first(A: Tensor, AT: Tensor, source: int, alpha: float = 0.05) -> Any:
    """A breadth-first tree: each vertex's parent, the source's own being itself; -1 for vertices
    that are not reached.

    A step pulls if more than a fraction ``alpha`` of all vertices are in the last level.
    """
    parents = np.empty(A.shape[0], np.int32)
    _search(parents, A, AT, source, alpha * len(parents))
    return parents


@kernel
def _levels(levels, A, source):
    queue = Tensor(VERTICES, (len(levels),))
    for i in _:
        levels[i] = -1
    levels[source] = 0
    queue[0] = source
    first = 0
    last = 1
    while first < last:
        i = queue[first]
        first += 1
        for j in _:
            if A[i, j] and levels[j] < 0:
                levels[j] = levels[i] + 1
                queue[last] = j
                last += 1


def levels(A: Tensor, source: int) -> Any:
    """The number of edges from the source to each vertex; -1 for unreachable vertices."""
    found = np.empty(A.shape[0], np.int64)
    _levels(found, A, source)
    return found


@kernel
def _order(order, A):
    """Vertices are placed once all that have an edge to them are."""
    incoming = Tensor(VERTICES, (len(order),))
    for i, j in _:
        incoming[j] += A[i, j]
    first = 0
    last = 0
    for i in _:
        order[i] = -1
    for i in _:
        if incoming[i] == 0:
            order[last] = i
            last += 1
    while first < last:
        i = order[first]
        first += 1
        for j in _:
            if A[i, j]:
                incoming[j] -= 1
                if incoming[j] == 0:
                    order[last] = j
                    last += 1


def topological_order(A: Tensor) -> Any:
    """The vertices in topological order. Raises ``ValueError`` if there is a cycle."""
    order = np.empty(A.shape[0], np.int64)
    _order(order, A)
    if np.any(order < 0):
        raise ValueError("the graph has a cycle")
    return order


# -- shortest paths ---------------------------------------------------------------------------


@attrs.frozen
class Network:
    """A graph's edge lengths, stored by source and by target, and the least length."""

    edges: Tensor
    reverse: Tensor
    least: float


def network(matrix: Any) -> Network:
    """The ``Network`` of a SciPy matrix of lengths; it serves shortest paths from any vertex."""
    edges, reverse = both_ways(matrix, LENGTHS)
    return Network(edges, reverse, float(np.min(edges.buffers["2_val"], initial=math.inf)))


@kernel
def _distances(d, edges, reverse, degree, source, least, many, cycle):
    """A round looks at the edges of the vertices that improved in the last one: it pushes along
    them, or pulls. No new path is shorter than the least distance of those vertices and the least
    edge, so that a pull skips vertices within this bound."""
    n = len(d)
    active = Tensor(VERTICES, (n,))
    next = Tensor(VERTICES, (n,))
    improved = Tensor(Dense(Element(False)), (n,))
    for i in _:
        d[i] = math.inf
    d[source] = 0
    active[0] = source
    count = 1
    rounds = 0
    while count > 0:
        if rounds == n:
            cycle[()] = True
            break
        rounds += 1
        near = math.inf
        leaving = 0
        for q in range(count):
            improved[active[q]] = False
            near = min(near, d[active[q]])
            leaving += degree[active[q]]
        found = 0
        if leaving > many:
            for j in _:
                if d[j] > near + least:
                    t = d[j]
                    for i in _:
                        t = min(t, d[i] + reverse[j, i])
                    if t < d[j]:
                        d[j] = t
                        next[found] = j
                        found += 1
        else:
            for q in range(count):
                i = active[q]
                for j in _:
                    t = d[i] + edges[i, j]
                    if t < d[j]:
                        d[j] = t
                        if not improved[j]:
                            improved[j] = True
                            next[found] = j
                            found += 1
        for q in range(found):
            active[q] = next[q]
        count = found


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
    the last round. Raises ``NegativeCycle`` if one is reachable.
    """
    d, cycle, edges = np.empty(graph.edges.shape[0]), Scalar(False), graph.edges
    degree = np.diff(edges.buffers["1_ptr"])
    _distances(d, edges, graph.reverse, degree, source, graph.least, alpha * edges.nstored, cycle)
    if cycle.value:
        raise NegativeCycle("a cycle of negative length can be reached from the source")
    return d


def bellman_ford(graph: Network, source: int) -> tuple[Any, Any]:
    """Distances from the source, and the parent of each vertex on a shortest path (-1: none).

    Raises ``NegativeCycle`` if one is reachable.
    """
    found = distances(graph, source)
    parents = np.full(len(found), -1)
    parents[source] = source
    return found, _tree(parents, found, graph.edges)


@kernel
def all_pairs(D):
    """All shortest distances, in place of the lengths of edges in a dense matrix."""
    for i in _:
        D[i, i] = min(D[i, i], 0)
    for k, i in _:
        t = D[i, k]
        for j in _:
            D[i, j] = min(D[i, j], t + D[k, j])


def floyd_warshall(lengths: Any) -> Any:
    """All shortest distances, from a dense matrix of lengths (infinity: no edge)."""
    D = np.array(lengths, dtype=float)
    all_pairs(D)
    return D


# -- ranks, counts and components -------------------------------------------------------------


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


@kernel
def _pagerank(rank, A, AT, damping, tolerance):
    n = len(rank)
    degree = Tensor(VERTICES, (n,))
    share = Tensor(Dense(Element(0.0)), (n,))
    for i, j in _:
        degree[i] += A[i, j]
    for i in _:
        rank[i] = 1 / n
    change = math.inf
    while change >= tolerance:
        lost = 0.0
        for i in parallel(_):
            if degree[i] > 0:
                share[i] = rank[i] / degree[i]
            else:
                lost += rank[i]
        change = 0.0
        for j in parallel(_):
            t = 0.0
            for i in _:
                t += AT[j, i] * share[i]
            t = (1 - damping + damping * lost) / n + damping * t
            change += abs(t - rank[j])
            rank[j] = t


def pagerank(A: Tensor, AT: Tensor, damping: float = 0.85, tolerance: float = 1e-10) -> Any:
    """The PageRank of each vertex; they sum to one. Vertices without edges distribute evenly."""
    rank = np.empty(A.shape[0])
    _pagerank(rank, A, AT, damping, tolerance)
    return rank


@kernel
def _triangles(count, L):
    count[...] = 0
    for i in parallel(_):
        for j, k in _:
            if L[i, j] and L[i, k] and L[j, k]:
                count[()] += 1
    return count


def triangles(matrix: Any) -> int:
    """The number of triangles of an undirected graph, by merging rows of its lower triangle."""
    lower = stored(scipy.sparse.tril(scipy.sparse.csr_array(matrix), -1))
    return int(_triangles(Scalar(0), lower).value)


@kernel
def _components(up, A):
    """Union-find: the roots of two neighbours become one, the lesser vertex; the way to a root is
    halved when it is taken."""
    for i in _:
        up[i] = i
    for i in _:
        a = i
        for j in range(i):
            if A[i, j]:
                b = j
                while up[b] != b:
                    up[b] = up[up[b]]
                    b = up[b]
                if a < b:
                    up[b] = a
                else:
                    up[a] = b
                    a = b
    for i in _:
        up[i] = up[up[i]]


def components(A: Tensor) -> Any:
    """For each vertex of an undirected graph, the least vertex of its connected component."""
    up = np.empty(A.shape[0], np.int32)
    _components(up, A)
    return up


@kernel
def _cores(core, A):
    """Vertices are taken from the least degree in what is left of the graph. ``order`` is sorted by
    these degrees all the time; ``end[d]`` is where those of degree ``d`` end in the beginning, and
    those of degree ``d + 1`` begin."""
    n = len(core)
    end = Tensor(VERTICES, (n + 1,))
    place = Tensor(VERTICES, (n,))
    order = Tensor(VERTICES, (n,))
    most = 0
    for i in _:
        degree = 0
        for j in _:
            degree += A[i, j]
        core[i] = degree
        most = max(most, degree)
    for i in _:
        end[core[i] + 1] += 1
    for d in range(most):
        end[d + 1] += end[d]
    for i in _:
        d = core[i]
        at = end[d]
        place[i] = at
        order[at] = i
        end[d] = at + 1
    for k in range(n):
        i = order[k]
        least = core[i]
        for j in _:
            if A[i, j] and core[j] > least:
                d = core[j]
                to = end[d - 1]
                at = place[j]
                other = order[to]
                order[at] = other
                place[other] = at
                order[to] = j
                place[j] = to
                end[d - 1] = to + 1
                core[j] = d - 1


def cores(A: Tensor) -> Any:
    """The core number of each vertex of an undirected graph without loops: the greatest ``k`` such
    that it is in a part of the graph in which all vertices have degree ``k`` or more."""
    core = np.empty(A.shape[0], np.int32)
    _cores(core, A)
    return core


@kernel
def _matching(mate, A):
    for i in _:
        mate[i] = -1
    for i in _:
        if mate[i] < 0:
            for j in _:
                if A[i, j] and mate[j] < 0 and i != j:
                    mate[i] = j
                    mate[j] = i
                    break


def matching(A: Tensor) -> Any:
    """A maximal matching of an undirected graph: the partner of each vertex; -1 for none."""
    mate = np.empty(A.shape[0], np.int32)
    _matching(mate, A)
    return mate


def main(arguments: list[str]) -> None:
    if arguments:
        matrix = scipy.sparse.csr_array(scipy.io.mmread(arguments[0]))
    else:
        path = scipy.sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(30, 30))
        one = scipy.sparse.eye_array(30)
        matrix = (scipy.sparse.kron(path, one) + scipy.sparse.kron(one, path)).tocsr()
    A, AT = both_ways(matrix)
    parents = breadth_first(A, AT, 0)
    print(f"{A.shape[0]} vertices, {A.nstored} edges")
    print(f"{np.count_nonzero(parents >= 0)} reached from 0, in {levels(A, 0).max()} steps")
    print(f"{triangles(matrix)} triangles, {len(np.unique(components(A)))} components")
    print(f"highest rank: vertex {np.argmax(pagerank(A, AT))}")


if __name__ == "__main__":
    main(sys.argv[1:])
