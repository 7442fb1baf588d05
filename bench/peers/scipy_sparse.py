"""SciPy: compressed rows, and NumPy's dense product where the matrix is dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage
import scipy.signal
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

from bench.peers import Contenders


def spmv(matrix: Any, x: Any) -> Contenders:
    found: Contenders = {"scipy": lambda: matrix @ x}
    if matrix.nnz > 0.4 * matrix.shape[0] * matrix.shape[1]:
        dense = matrix.toarray()
        found["numpy dense"] = lambda: dense @ x
    return found


def spgemm(A: Any, B: Any) -> Contenders:
    def ordered() -> Any:
        C = A @ B
        C.sort_indices()
        return C

    return {"scipy unsorted": lambda: A @ B, "scipy sorted": ordered}


def spmm(A: Any, B: Any) -> Contenders:
    return {"scipy": lambda: A @ B}


def bfs(graph: Any, source: int) -> Contenders:
    def run() -> Any:
        _order, parents = scipy.sparse.csgraph.breadth_first_order(graph, source)
        parents[source] = source
        return parents

    return {"scipy": run}


def shortest_paths(graph: Any, source: int) -> Contenders:
    def dijkstra() -> Any:
        return scipy.sparse.csgraph.dijkstra(graph, indices=source)

    return {"scipy dijkstra": dijkstra}


def all_pairs(lengths: Any) -> Contenders:
    return {"scipy": lambda: scipy.sparse.csgraph.floyd_warshall(lengths)}


def components(graph: Any) -> Contenders:
    def run() -> Any:
        return scipy.sparse.csgraph.connected_components(graph, directed=False)[1]

    return {"scipy": run}


def degrees(graph: Any) -> Contenders:
    return {"scipy": lambda: graph.sum(axis=1)}


def erosion(image: Any, iterations: int) -> Contenders:
    box = np.ones((3, 3), dtype=bool)

    def eroded() -> Any:
        return scipy.ndimage.binary_erosion(image, box, iterations, border_value=1)

    return {"scipy": eroded}


def dilation(image: Any, iterations: int) -> Contenders:
    box = np.ones((3, 3), dtype=bool)
    return {"scipy": lambda: scipy.ndimage.binary_dilation(image, box, iterations)}


def box_sum(image: Any) -> Contenders:
    ones = np.ones(3, np.int64)

    def run() -> Any:
        rows = scipy.ndimage.correlate1d(image, ones, 0, np.uint16, "constant")
        return scipy.ndimage.correlate1d(rows, ones, 1, np.uint16, "constant")

    return {"scipy": run}


def ttv(coordinates: Any, values: Any, _shape: Any, x: Any) -> Contenders:
    """NumPy's sums of stretches, with the products in memory."""
    (i, j, k) = coordinates
    starts = np.flatnonzero((np.diff(i, prepend=-1) != 0) | (np.diff(j, prepend=-1) != 0))
    wide = values.reshape(-1, *[1] * (x.ndim - 1))
    return {"numpy": lambda: np.add.reduceat(wide * x[k], starts)}


def ttm(coordinates: Any, values: Any, shape: Any, X: Any) -> Contenders:
    return ttv(coordinates, values, shape, X)


def lower_solve(L: Any, b: Any) -> Contenders:
    return {"scipy": lambda: scipy.sparse.linalg.spsolve_triangular(L, b)}


def upper_solve(U: Any, b: Any) -> Contenders:
    return {"scipy": lambda: scipy.sparse.linalg.spsolve_triangular(U, b, lower=False)}


def conjugate_gradients(A: Any, b: Any, steps: int) -> Contenders:
    solve = scipy.sparse.linalg.cg
    return {"scipy": lambda: solve(A, b, rtol=0, atol=0, maxiter=steps)[0]}


def scale_rows(A: Any, d: Any) -> Contenders:
    return {"scipy": lambda: A.multiply(d[:, None]).tocsr().data}


def drop_small(A: Any, least: float) -> Contenders:
    def dropped() -> Any:
        B = A.copy()
        B.data[np.abs(B.data) <= least] = 0
        B.eliminate_zeros()
        return B.data

    return {"scipy": dropped}


def all_pairs_dense(D: Any) -> Contenders:
    return {"scipy": lambda: scipy.sparse.csgraph.floyd_warshall(D)}


def prefix_sums(x: Any) -> Contenders:
    y = np.empty_like(x)
    return {"numpy": lambda: np.cumsum(x, out=y)}


def second_order(x: Any, b: Any, a: Any) -> Contenders:
    return {"scipy": lambda: scipy.signal.lfilter(b, a, x)}
