"""SciPy: compressed rows, and NumPy's dense product where the matrix is dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage
import scipy.sparse
import scipy.sparse.csgraph

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


def bellman_ford(graph: Any, source: int) -> Contenders:
    def dijkstra() -> Any:
        return scipy.sparse.csgraph.dijkstra(graph, indices=source)

    return {"scipy dijkstra": dijkstra}


def erosion(image: Any, iterations: int) -> Contenders:
    box = np.ones((3, 3), dtype=bool)

    def eroded() -> Any:
        return scipy.ndimage.binary_erosion(image, box, iterations, border_value=1)

    return {"scipy": eroded}
