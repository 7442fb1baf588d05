"""A workspace declared for each row: a SparseByteMap costs what is written, not its length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.generators import erdos_renyi
from bench.hand import KERNEL_FLAGS, library, pointer
from bench.harness import compare
from finch_core import Tensor, _, asarray, kernel
from finch_levels import Dense, Element, SparseByteMap, SparseList


@kernel
def squared(C, A):
    w = Tensor(SparseByteMap(Element(0.0)))
    C[...] = 0
    for i in _:
        w[...] = 0
        for k, j in _:
            w[j] += A[i, k] * A[k, j]
        for j in _:
            C[i, j] = w[j]
    return C


def run(
    seconds: float = 1.0, sizes: Sequence[int] = (1_000, 10_000, 100_000, 1_000_000)
) -> list[dict[str, Any]]:
    """Gustavson's product of square matrices with two entries a row, against the same loops by
    hand, and SciPy's."""
    rows = []
    for size in sizes:
        matrix = erdos_renyi(size, 2)
        A, C = asarray(matrix), Tensor(Dense(SparseList(Element(0.0))))
        squared(C, A)
        by_hand = _by_hand(matrix, C.nstored)
        assert by_hand() == C.nstored
        contenders = {
            "finch": lambda A=A, C=C: squared(C, A),
            "hand": by_hand,
            "scipy": lambda m=matrix: sorted_product(m),
        }
        times = compare(contenders, seconds, at_least=3)
        finch, hand, scipy = (times[n].seconds for n in contenders)
        each = {f"{n} (ns a row)": times[n].seconds / size * 1e9 for n in contenders}
        rows.append(
            {"rows": f"{size:,}", **each, "of hand": finch / hand, "of scipy": finch / scipy}
        )
    return rows


def _by_hand(matrix: Any, stored: int) -> Callable[[], int]:
    """The product by the loops of ``bench/hand/loops.c``, into memory that is there."""
    ffi, loops = library("loops", KERNEL_FLAGS)
    size = matrix.shape[0]
    new = np.zeros(size + 1, np.int64), np.zeros(stored, np.int64), np.zeros(stored)
    workspace = np.zeros(size), np.zeros(size, np.uint8), np.zeros(size, np.int64)
    arrays = (matrix.indptr, matrix.indices, matrix.data, *new, *workspace)
    pointers = [pointer(ffi, array) for array in arrays]
    return lambda: int(loops.squared(size, *pointers))


def sorted_product(matrix: Any) -> Any:
    """SciPy's product, with its rows in order as ours are."""
    product = matrix @ matrix
    product.sort_indices()
    return product
