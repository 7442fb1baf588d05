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
    """The same kernel with nothing remembered in memory."""
    return kernel(program)


def arguments(size: int = 3) -> tuple[Any, Any, Any]:
    """Output, matrix and vector: three tensors."""
    dense = Dense(Element(0.0))
    A = Tensor(Dense(SparseList(Element(0.0))), np.eye(size))
    return Tensor(dense), A, Tensor(dense, np.ones(size))
