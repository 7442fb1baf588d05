"""Eigen, from a small harness in C++ that is compiled at the start (``bench/hand/eigen.cpp``)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from bench.hand import cxx_library, pointer
from bench.peers import Contenders


def _headers() -> str:
    """Where Eigen's headers are."""
    if shutil.which("pkg-config"):
        command = ["pkg-config", "--variable=includedir", "eigen3"]
        said = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        for place in (said, f"{said}/eigen3"):
            if said and Path(place, "Eigen", "Sparse").exists():
                return place
    for prefix in ("/usr", "/usr/local"):
        if Path(prefix, "include/eigen3/Eigen/Sparse").exists():
            return f"{prefix}/include/eigen3"
    raise ImportError("no Eigen headers (Debian: libeigen3-dev)")


FLAGS = ("-O3", "-march=native", "-DNDEBUG", "-std=c++17", "-isystem", _headers())
ffi, lib = cxx_library("eigen", FLAGS)


def version() -> str:
    """Eigen's version, from its headers."""
    text = Path(_headers(), "Eigen/src/Core/util/Macros.h").read_text()
    parts = ("WORLD", "MAJOR", "MINOR")
    return ".".join(text.partition(f"EIGEN_{part}_VERSION ")[2].split()[0] for part in parts)


def _arrays(matrix: Any) -> tuple[Any, Any, Any]:
    return tuple(pointer(ffi, a) for a in (matrix.indptr, matrix.indices, matrix.data))


def spmv(matrix: Any, x: Any) -> Contenders:
    y = np.empty(matrix.shape[0])
    args = (*matrix.shape, *_arrays(matrix), pointer(ffi, x), pointer(ffi, y))
    return {"eigen": lambda: (lib.spmv(*args), y)[1]}


def spmm(A: Any, B: Any) -> Contenders:
    C = np.empty((A.shape[0], B.shape[1]))
    args = (*A.shape, B.shape[1], *_arrays(A), pointer(ffi, B), pointer(ffi, C))
    return {"eigen": lambda: (lib.spmm(*args), C)[1]}


def spgemm(A: Any, B: Any) -> Contenders:
    shape = (A.shape[0], B.shape[1])
    args = (*A.shape, B.shape[1], *_arrays(A), *_arrays(B))

    def run() -> Any:
        result = ffi.gc(lib.spgemm(*args), lib.release)
        return lambda: _as_scipy(result, shape)

    return {"eigen": run}


def _as_scipy(result: Any, shape: tuple[int, int]) -> Any:
    stored = lib.stored(result)

    def copied(address: Any, dtype: Any, count: int) -> Any:
        size = count * np.dtype(dtype).itemsize
        return np.frombuffer(ffi.buffer(address, size), dtype).copy()

    values = copied(lib.values(result), np.float64, stored)
    columns = copied(lib.coordinates(result), np.int32, stored)
    positions = copied(lib.positions(result), np.int32, shape[0] + 1)
    return scipy.sparse.csr_array((values, columns, positions), shape=shape)
