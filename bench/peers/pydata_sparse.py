"""pydata sparse: compressed rows (``GCXS``), and coordinates for what has more indices."""

from __future__ import annotations

from typing import Any

import sparse

from bench.peers import Contenders


def spmv(matrix: Any, x: Any) -> Contenders:
    A = sparse.GCXS.from_scipy_sparse(matrix)
    return {"sparse": lambda: A @ x}


def spmm(A: Any, B: Any) -> Contenders:
    return spmv(A, B)


def spgemm(A: Any, B: Any) -> Contenders:
    left, right = (sparse.GCXS.from_scipy_sparse(matrix) for matrix in (A, B))

    def run() -> Any:
        C = left @ right
        return lambda: C.to_scipy_sparse()

    return {"sparse": run}


def ttv(coordinates: Any, values: Any, shape: Any, x: Any) -> Contenders:
    A = sparse.COO(coordinates, values, shape=shape)
    return {"sparse": lambda: sparse.tensordot(A, x, axes=1, return_type=sparse.COO)}


def ttm(coordinates: Any, values: Any, shape: Any, X: Any) -> Contenders:
    return ttv(coordinates, values, shape, X)
