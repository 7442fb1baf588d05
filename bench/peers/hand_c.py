"""Loops by hand in C, as a tensor compiler without structured formats has them, with its flags."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from bench.hand import library, pointer
from bench.peers import Contenders

SPMV_FLAGS = {
    "taco-like": ("-O3", "-ffast-math", "-std=gnu99"),
    "taco-like native": ("-O3", "-ffast-math", "-std=gnu99", "-march=native"),
    "hand C": ("-O3", "-march=native", "-std=gnu99", "-falign-loops=64"),
}


def _arrays(ffi: Any, matrix: Any) -> tuple[Any, Any, Any]:
    return tuple(pointer(ffi, a) for a in (matrix.indptr, matrix.indices, matrix.data))


def spmv(matrix: Any, x: Any) -> Contenders:
    found: Contenders = {}
    for name, flags in SPMV_FLAGS.items():
        ffi, lib = library("taco_like", flags)
        y = np.empty(matrix.shape[0])
        args = (*_arrays(ffi, matrix), pointer(ffi, x), pointer(ffi, y))
        found[name] = lambda lib=lib, y=y, args=args: (lib.spmv(len(y), *args), y)[1]
    return found


def spgemm(A: Any, B: Any) -> Contenders:
    ffi, lib = library("taco_like")
    pos = np.empty(A.shape[0] + 1, np.int32)
    args = (*_arrays(ffi, A), *_arrays(ffi, B), pointer(ffi, pos))

    def run() -> Any:
        crd, val = ffi.new("int **"), ffi.new("double **")
        stored = lib.spgemm(A.shape[0], B.shape[1], *args, crd, val)
        done = (ffi.gc(crd[0], lib.release), ffi.gc(val[0], lib.release))
        return lambda: scipy.sparse.csr_array(
            (np.frombuffer(ffi.buffer(done[1], 8 * stored)),
             np.frombuffer(ffi.buffer(done[0], 4 * stored), np.int32), pos),
            shape=(A.shape[0], B.shape[1]),
        )  # fmt: skip

    return {"taco-like": run}


def sddmm(S: Any, A: Any, B: Any) -> Contenders:
    ffi, lib = library("taco_like")
    c = np.empty(S.nnz)
    args = (*_arrays(ffi, S), *(pointer(ffi, a) for a in (A, B, c)))
    return {"taco-like": lambda: (lib.sddmm(S.shape[0], A.shape[1], *args), c)[1]}


def spmm(A: Any, B: Any) -> Contenders:
    ffi, lib = library("taco_like")
    c = np.empty((A.shape[0], B.shape[1]))
    args = (*_arrays(ffi, A), pointer(ffi, B), pointer(ffi, c))
    return {"taco-like": lambda: (lib.spmm(len(c), B.shape[1], *args), c)[1]}


def mttkrp(buffers: Any, shape: Any, B: Any, C: Any) -> Contenders:
    ffi, lib = library("taco_like")
    d = np.empty((shape[0], B.shape[1]))
    names = ("0_ptr", "0_idx", "1_ptr", "1_idx", "2_ptr", "2_idx", "3_val")
    args = [pointer(ffi, buffers[name]) for name in names] + [pointer(ffi, a) for a in (B, C, d)]
    return {"taco-like": lambda: (lib.mttkrp(len(d), B.shape[1], *args), d)[1]}


def spmv_band(matrix: Any, x: Any) -> Contenders:
    """A product written by hand for a band: no column indices but the first of each row."""
    ffi, lib = library("taco_like")
    start = matrix.indices[matrix.indptr[:-1]]
    y = np.empty(matrix.shape[0])
    args = [pointer(ffi, a) for a in (start, matrix.indptr, matrix.data, x, y)]
    return {"hand C band": lambda: (lib.spmv_band(len(y), *args), y)[1]}
