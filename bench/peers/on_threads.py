"""Peers on several threads, for ``bench.parallel``: Numba's ``prange``, MKL and GraphBLAS, where
installed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

PEERS = ("numba", "mkl", "graphblas")

try:
    import numba
except ImportError:  # bench.parallel goes on without it
    numba = None


def peers(name: str, args: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    """The programs of other libraries that compute what the parallel loop ``name`` does."""
    found: dict[str, Callable[[], Any]] = {}
    for make in (_numba, _mkl, _graphblas):
        with suppress(ImportError, OSError):
            found |= make(name, args)
    return found


def use(peer: str, threads: int) -> None:
    """Let a peer run on this many threads."""
    if peer == "numba":
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    elif peer == "mkl":
        from bench.peers import mkl

        mkl.mkl_set_num_threads(threads)
    else:
        import graphblas

        graphblas.ss.config["nthreads"] = threads


def _csr(tensor: Any, index: Any = np.int64) -> Any:
    import scipy.sparse

    parts = [np.array(part) for part in tensor.buffers.values()]
    pointers, indices, values = parts
    made = (values, indices.astype(index), pointers.astype(index))
    return scipy.sparse.csr_array(made, shape=tensor.shape)


def _numba(name: str, args: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    if numba is None:
        return {}
    compiled = numba.njit(parallel=True)
    if name.startswith("spmv"):
        y, A, x = args
        given = (np.zeros_like(y), (m := _csr(A)).indptr, m.indices, m.data, x)
        loop = compiled(_spmv)
    elif name == "spmm":
        C, A, B = args
        given = (np.zeros_like(C), (m := _csr(A)).indptr, m.indices, m.data, B)
        loop = compiled(_spmm)
    else:
        return {}
    return {"numba": lambda: loop(*given)}


def _spmv(y: Any, ptr: Any, idx: Any, val: Any, x: Any) -> None:
    for i in numba.prange(len(y)):
        s = 0.0
        for q in range(ptr[i], ptr[i + 1]):
            s += val[q] * x[idx[q]]
        y[i] = s


def _spmm(C: Any, ptr: Any, idx: Any, val: Any, B: Any) -> None:
    for i in numba.prange(C.shape[0]):
        for k in range(C.shape[1]):
            C[i, k] = 0
        for q in range(ptr[i], ptr[i + 1]):
            for k in range(C.shape[1]):
                C[i, k] += val[q] * B[idx[q], k]


def _mkl(name: str, args: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    from bench.peers import mkl

    if name.startswith("spmv"):
        y, A, x = args
        return {"mkl": mkl.Handle(_csr(A, np.int32)).times(x, np.empty_like(y))}
    if name == "spmm":
        import scipy.sparse

        plain = scipy.sparse.csr_matrix(_csr(args[1], np.int32))
        return {"mkl": lambda: mkl.dot_product_mkl(plain, args[2])}
    if name == "spgemm":
        return {"mkl": mkl.spgemm(_csr(args[1], np.int32), _csr(args[2], np.int32))["mkl sorted"]}
    return {}


def _graphblas(name: str, args: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    from bench.peers import graphblas_

    if name.startswith("spmv"):
        return graphblas_.spmv(_csr(args[1]), args[2])
    if name == "spmm":
        return graphblas_.spmm(_csr(args[1]), args[2])
    if name == "spgemm":
        return {"graphblas": graphblas_.spgemm(_csr(args[1]), _csr(args[2]))["graphblas sorted"]}
    if name == "triangles":
        return graphblas_.triangles(_csr(args[1]))
    return {}
