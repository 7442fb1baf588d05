"""A workspace declared for each row: a SparseByteMap costs what is written, not its length."""

from __future__ import annotations

from typing import Any

from bench.generators import erdos_renyi
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


def run(seconds: float = 1.0) -> list[dict[str, Any]]:
    """Gustavson's product of square matrices with two entries a row, against SciPy's."""
    rows = []
    for size in (1_000, 10_000, 100_000, 1_000_000):
        matrix = erdos_renyi(size, 2)
        A, C = asarray(matrix), Tensor(Dense(SparseList(Element(0.0))))
        contenders = {
            "finch": lambda A=A, C=C: squared(C, A),
            "scipy": lambda m=matrix: sorted_product(m),
        }
        times = compare(contenders, seconds, at_least=3)
        finch, scipy = (times[n].seconds for n in contenders)
        rows.append({"rows": f"{size:,}", "ns a row": finch / size * 1e9, "finch s": finch,
                     "scipy s": scipy, "ratio": finch / scipy})  # fmt: skip
    return rows


def sorted_product(matrix: Any) -> Any:
    """SciPy's product, with its rows in order as ours are."""
    product = matrix @ matrix
    product.sort_indices()
    return product
