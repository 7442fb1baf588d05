"""Intel's MKL through sparse-dot-mkl, which wants the library loaded before it is imported."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import scipy.sparse

from bench.peers import Contenders

_name = next((p for p in Path(sys.prefix, "lib").glob("libmkl_rt.so*")), Path("libmkl_rt.so"))
ctypes.CDLL(str(_name), mode=ctypes.RTLD_GLOBAL)

from sparse_dot_mkl import dot_product_mkl, mkl_set_num_threads  # noqa: E402

mkl_set_num_threads(1)


def spmv(matrix: Any, x: Any) -> Contenders:
    plain = scipy.sparse.csr_matrix(matrix)
    return {"mkl": lambda: dot_product_mkl(plain, x)}


def spgemm(A: Any, B: Any) -> Contenders:
    left, right = scipy.sparse.csr_matrix(A), scipy.sparse.csr_matrix(B)
    return {
        "mkl unsorted": lambda: dot_product_mkl(left, right),
        "mkl sorted": lambda: dot_product_mkl(left, right, reorder_output=True),
    }
