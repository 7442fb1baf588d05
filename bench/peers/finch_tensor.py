"""finch-tensor, which compiles through Numba once it is told to, and keeps its kernels if asked."""

from __future__ import annotations

from typing import Any

import finch
import numpy as np

from bench.peers import Contenders

finch.COMPILE_NUMBA.ctx.cache = True  # else it plans and compiles anew at each call
finch.set_default_scheduler(finch.COMPILE_NUMBA)
LARGEST = 2_000  # its sparse products are dense


def matrix(matrix: Any) -> Any:
    """A matrix of SciPy's, with indices of 64 bits."""
    wide = matrix.copy()  # narrower indices are refused
    wide.indices, wide.indptr = (a.astype(np.int64) for a in (matrix.indices, matrix.indptr))
    return finch.asarray(wide)


def _product(left: Any, right: Any) -> Contenders:
    def run() -> Any:
        C = finch.matmul(left, right)
        return lambda: finch.to_numpy(C)

    return {"finch-tensor": run}


def spmv(A: Any, x: Any) -> Contenders:
    return _product(matrix(A), finch.asarray(x))


def spmm(A: Any, B: Any) -> Contenders:
    return _product(matrix(A), finch.asarray(B))


def spgemm(A: Any, B: Any) -> Contenders:
    if max(A.shape[0], B.shape[1]) > LARGEST:
        return {}
    return _product(matrix(A), matrix(B))
