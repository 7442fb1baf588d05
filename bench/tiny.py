"""The kernel of the compile-time benchmark, on a small diagonal matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core import Tensor, _, kernel
from finch_levels import Dense, Element, SparseList


def program(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


spmv = kernel(program)


def fresh_spmv() -> Any:
    """``spmv`` with nothing remembered in memory."""
    return kernel(program)


def arguments(size: int = 3) -> tuple[Any, Any, Any]:
    """Output, matrix and vector: three tensors, made without a kernel."""
    dense, ends = Dense(Element(0.0)), np.arange(size + 1)
    diagonal = {"1_ptr": ends, "1_idx": ends[:-1], "2_val": np.ones(size)}
    A = Tensor.from_buffers(Dense(SparseList(Element(0.0))), (size, size), diagonal)
    return Tensor(dense), A, Tensor.from_buffers(dense, (size,), {"val": np.ones(size)})
