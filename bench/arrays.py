"""Array functions beside SciPy, pydata/sparse and NumPy: microseconds of one warm call each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.harness import compare

SIZES = ((10, 0.3), (1000, 0.01), (20000, 0.0005))
"""Rows of square matrices, and their densities."""
DENSE_MOST = 2000
"""NumPy takes part up to this many rows."""

OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "A + B": lambda A, B, x: A + B, "A * B": lambda A, B, x: A * B,
    "A * 2.0": lambda A, B, x: A * 2.0,
    "A > 0.5": lambda A, B, x: A > 0.5, "sum(A, 0)": lambda A, B, x: A.sum(axis=0),
    "sum(A, 1)": lambda A, B, x: A.sum(axis=1), "A @ x": lambda A, B, x: A @ x,
    "A.T @ x": lambda A, B, x: A.T @ x, "A @ B": lambda A, B, x: A @ B,
    "A[n/4:n/2]": lambda A, B, x: A[A.shape[0] // 4 : A.shape[0] // 2],
}  # fmt: skip


def operands(n: int, density: float) -> dict[str, tuple[Any, Any, Any]]:
    """Two matrices and a vector for each contender."""
    import scipy.sparse as sp

    from finch_core import Tensor
    from finch_levels import Dense, Element, SparseList

    rng = np.random.default_rng(0)
    first, second = (
        sp.random_array((n, n), density=density, format="csr", rng=rng) for _ in range(2)
    )
    x = np.ones(n)
    csr = Dense(SparseList(Element(0.0)))
    found = {
        "finch": (Tensor(csr, first), Tensor(csr, second), x), "scipy": (first, second, x)
    }  # fmt: skip
    if n <= DENSE_MOST:
        found["numpy"] = (first.toarray(), second.toarray(), x)
    try:
        import sparse
    except ImportError:
        return found
    found["sparse"] = (
        sparse.GCXS.from_scipy_sparse(first), sparse.GCXS.from_scipy_sparse(second), x
    )  # fmt: skip
    return found


def run(seconds: float, sizes: tuple[tuple[int, float], ...] = SIZES) -> list[dict[str, Any]]:
    """A row for each operation and size: the microseconds of each, and SciPy's and pydata/sparse's
    relative to ours (above 1: ours is faster)."""
    rows = []
    for n, density in sizes:
        given = operands(n, density)
        for name, operation in OPERATIONS.items():
            contenders = {
                who: (lambda of=of, operation=operation: operation(*of))
                for who, of in given.items()
            }
            rows.append(_row(name, n, compare(contenders, seconds, 3)))
    return rows


def _row(name: str, n: int, timings: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"operation": name, "rows": n}
    for who in ("finch", "scipy", "sparse", "numpy"):
        row[f"{who} us"] = timings[who].seconds * 1e6 if who in timings else float("nan")
    for who in ("scipy", "sparse"):
        row[f"{who} / finch"] = row[f"{who} us"] / row["finch us"]
    return row
