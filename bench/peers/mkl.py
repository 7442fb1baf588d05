"""Intel's MKL: through sparse-dot-mkl, which wants the library loaded before it is imported, and
through a handle that is kept, with a hint of many products and optimised, as its documentation has
it for matrices that are used often."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from bench.peers import Contenders, converted

_name = next((p for p in Path(sys.prefix, "lib").glob("libmkl_rt.so*")), Path("libmkl_rt.so"))
_lib = ctypes.CDLL(str(_name), mode=ctypes.RTLD_GLOBAL)

from sparse_dot_mkl import dot_product_mkl, mkl_set_num_threads  # noqa: E402

mkl_set_num_threads(1)
NOT_TRANSPOSED, GENERAL, MANY = 10, 20, 10_000


class _Description(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]


class Handle:
    """An optimised MKL matrix over the arrays of a CSR matrix of doubles and int32."""

    def __init__(self, matrix: Any) -> None:
        self._kept = (matrix.indptr, matrix.indices, matrix.data)
        pos, crd, val = (ctypes.c_void_p(a.ctypes.data) for a in self._kept)
        ends = ctypes.c_void_p(self._kept[0].ctypes.data + 4)
        self._handle, self._about = ctypes.c_void_p(), _Description(GENERAL, 0, 0)
        rows, columns = map(ctypes.c_int, matrix.shape)
        made = _lib.mkl_sparse_d_create_csr(
            ctypes.byref(self._handle), 0, rows, columns, pos, ends, crd, val
        )
        hinted = _lib.mkl_sparse_set_mv_hint(self._handle, NOT_TRANSPOSED, self._about, MANY)
        optimised = _lib.mkl_sparse_optimize(self._handle)
        if made or hinted or optimised:
            raise RuntimeError(f"MKL refuses the matrix: {made}, {hinted}, {optimised}")

    def times(self, x: Any, y: Any) -> Any:
        """A function that writes the product with ``x`` to ``y``, and gives ``y``."""
        one, zero = ctypes.c_double(1), ctypes.c_double(0)
        places = (ctypes.c_void_p(x.ctypes.data), zero, ctypes.c_void_p(y.ctypes.data))
        call = _lib.mkl_sparse_d_mv
        given = (NOT_TRANSPOSED, one, self._handle, self._about, *places)
        return lambda: (call(*given), self, y)[2]  # the handle lives as long as this

    def __del__(self) -> None:
        _lib.mkl_sparse_destroy(self._handle)


def spmv(matrix: Any, x: Any) -> Contenders:
    plain = scipy.sparse.csr_matrix(matrix)
    found: Contenders = {"mkl fresh": lambda: dot_product_mkl(plain, x)}
    if matrix.dtype == np.float64 and matrix.indices.dtype == np.int32 and all(matrix.shape):
        run = Handle(matrix).times(x, np.empty(matrix.shape[0]))
        found["mkl handle"] = converted(run, lambda: Handle(matrix))
    return found


def spgemm(A: Any, B: Any) -> Contenders:
    left, right = scipy.sparse.csr_matrix(A), scipy.sparse.csr_matrix(B)
    return {
        "mkl unsorted": lambda: dot_product_mkl(left, right),
        "mkl sorted": lambda: dot_product_mkl(left, right, reorder_output=True),
    }
