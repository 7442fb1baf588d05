"""SuiteSparse:GraphBLAS through python-graphblas; the graph programs are those of LAGraph."""

from __future__ import annotations

from typing import Any

import graphblas as gb
import numpy as np
import scipy.sparse
from graphblas import Matrix, Vector, binary, semiring

from bench.peers import Contenders

gb.ss.config["nthreads"] = 1
any_secondi = semiring.ss.any_secondi["INT32"]


def _matrix(matrix: Any) -> Any:
    return gb.io.from_scipy_sparse(scipy.sparse.csr_array(matrix))


def spmv(matrix: Any, x: Any) -> Contenders:
    A, vector = _matrix(matrix), Vector.from_dense(x)

    def run() -> Any:
        y = semiring.plus_times(A @ vector).new()
        return lambda: y.to_dense(0.0)

    return {"graphblas": run}


def spgemm(A: Any, B: Any) -> Contenders:
    left, right = _matrix(A), _matrix(B)

    def run() -> Any:
        C = Matrix(float, A.shape[0], B.shape[1])
        C << semiring.plus_times(left @ right)
        C.wait("materialize")  # sorts what the product left unsorted
        return lambda: gb.io.to_scipy_sparse(C, "csr")

    return {"graphblas sorted": run}


def spmm(A: Any, B: Any) -> Contenders:
    left, right = _matrix(A), Matrix.from_dense(B)

    def run() -> Any:
        C = semiring.plus_times(left @ right).new()
        return lambda: C.to_dense(0.0)

    return {"graphblas": run}


def bfs(graph: Any, source: int) -> Contenders:
    """LAGraph's: a step pulls where the frontier is large, and then keeps it as a bitmap."""
    A, size = _matrix(graph.astype(bool)), graph.shape[0]
    columns = A.dup()
    columns.ss.config["format"] = "by_col"
    for matrix in (A, columns):
        matrix.wait("materialize")

    def run() -> Any:
        parents, frontier = Vector(np.int32, size), Vector(np.int32, size)
        parents.ss.config["sparsity_control"] = "bitmap"
        parents[source] = source
        frontier[source] = source
        while frontier.nvals:
            pull = frontier.nvals > size / 25
            frontier.ss.config["sparsity_control"] = "bitmap" if pull else "sparse"
            product = any_secondi(columns.T @ frontier if pull else frontier @ A)
            frontier(~parents.S, replace=True) << product
            parents(frontier.S) << frontier
        return lambda: parents.to_dense(-1)

    return {"graphblas": run}


def shortest_paths(graph: Any, source: int) -> Contenders:
    """Distances alone: no tree."""
    A, size = _matrix(graph), graph.shape[0]

    def run() -> Any:
        distances = Vector.from_scalar(np.inf, size=size, dtype=float)
        distances[source] = 0
        frontier, reached = Vector(float, size), Vector(float, size)
        frontier[source] = 0
        while frontier.nvals:
            reached << semiring.min_plus(frontier @ A)
            better = binary.lt(reached & distances).new()
            frontier = reached.dup(mask=better.V)
            distances(frontier.S) << frontier
        return lambda: distances.to_dense(np.inf)

    return {"graphblas": run}


def degrees(graph: Any) -> Contenders:
    A = _matrix(graph.astype(np.int64))

    def run() -> Any:
        counts = A.reduce_rowwise("plus").new()
        return lambda: counts.to_dense(0)

    return {"graphblas": run}


def triangles(graph: Any) -> Contenders:
    """Sandia's: the products of the lower triangle with itself, where it has edges."""
    L = _matrix(scipy.sparse.tril(graph, -1).astype(np.int64).tocsr())
    columns = L.dup()
    columns.ss.config["format"] = "by_col"

    def run() -> Any:
        C = Matrix(np.int64, *graph.shape)
        C(L.S) << semiring.plus_pair(L @ columns.T)
        return C.reduce_scalar("plus").new().value or 0

    return {"graphblas": run}


def pagerank(graph: Any) -> Contenders:
    A, size = _matrix(graph.astype(float)), graph.shape[0]
    columns = A.dup()
    columns.ss.config["format"] = "by_col"
    out = np.diff(graph.indptr)

    def run() -> Any:
        ranks = np.full(size, 1 / size)
        while True:
            shares = np.divide(ranks, out, out=np.zeros(size), where=out > 0)
            base = (0.15 + 0.85 * ranks[out == 0].sum()) / size
            spread = semiring.plus_second(columns.T @ Vector.from_dense(shares)).new()
            new = base + 0.85 * spread.to_dense(0.0)
            if np.abs(new - ranks).sum() < 1e-10:
                return new
            ranks = new

    return {"graphblas": run}
