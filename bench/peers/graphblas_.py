"""SuiteSparse:GraphBLAS through python-graphblas; the graph programs are those of LAGraph."""

from __future__ import annotations

from typing import Any

import graphblas as gb
import numpy as np
import scipy.sparse
from graphblas import Matrix, Vector, binary, semiring

from bench.peers import Contenders

gb.ss.config["nthreads"] = 1


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


def bfs(graph: Any, source: int) -> Contenders:
    A, size = _matrix(graph.astype(bool)), graph.shape[0]
    columns = A.dup()
    columns.ss.config["format"] = "by_col"

    def run() -> Any:
        parents, frontier = Vector(np.int64, size), Vector(np.int64, size)
        parents[source] = source
        frontier[source] = source
        while True:
            pull = frontier.nvals > size / 25
            product = semiring.any_secondi(columns.T @ frontier) if pull else (
                semiring.any_secondi(frontier @ A)
            )  # fmt: skip
            frontier(~parents.S, replace=True) << product
            if frontier.nvals == 0:
                return lambda: parents.to_dense(-1)
            parents(frontier.S) << frontier

    return {"graphblas": run}


def bellman_ford(graph: Any, source: int) -> Contenders:
    A, size = _matrix(graph), graph.shape[0]

    def run() -> Any:
        distances = Vector(float, size)
        distances[source] = 0
        frontier = distances.dup()
        while frontier.nvals:
            reached = semiring.min_plus(frontier @ A).new()
            better = binary.lt(reached | distances, left_default=np.inf,
                               right_default=np.inf).new()  # fmt: skip
            frontier = reached.dup(mask=better.V)
            distances(binary.min) << frontier
        return lambda: distances.to_dense(np.inf)

    return {"graphblas": run}
