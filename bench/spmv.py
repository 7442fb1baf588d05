"""SpMV against ``scipy.sparse`` on the very same int32 CSR arrays, single-threaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from bench.harness import compare
from finch_core import Tensor, _, asarray, kernel
from finch_levels import Dense, Element


@kernel
def spmv(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


def matrices(data: Path | None) -> Iterator[tuple[str, Any]]:
    """Names and int32 CSR matrices: those of a folder, else a mesh and a random one."""
    if data is not None:
        for path in sorted(data.glob("*.mtx.gz")):
            found = scipy.sparse.csr_array(scipy.io.mmread(path))
            if found.dtype.kind in "iuf":
                yield path.name.removesuffix(".mtx.gz"), int32(found.astype(np.float64))
        return
    yield from _airfoil()
    yield "random_100k_x10", int32(random_rows(100_000, 10))


def _airfoil() -> Iterator[tuple[str, Any]]:
    try:
        from pyamg.gallery import load_example
    except ImportError:
        print("airfoil is left out: PyAMG is not installed")
        return
    yield "airfoil", int32(scipy.sparse.csr_array(load_example("airfoil")["A"]))


def random_rows(size: int, per_row: int) -> Any:
    """A square matrix with ``per_row`` random entries in each row."""
    generator = np.random.default_rng(0)
    columns = generator.integers(0, size, size * per_row)
    rows = np.repeat(np.arange(size), per_row)
    values = generator.random(size * per_row)
    return scipy.sparse.csr_array((values, (rows, columns)), shape=(size, size))


def int32(matrix: Any) -> Any:
    """Sorted, without duplicates, with int32 indices and pointers."""
    matrix.sum_duplicates()
    matrix.sort_indices()
    matrix.indices = matrix.indices.astype(np.int32)
    matrix.indptr = matrix.indptr.astype(np.int32)
    return matrix


def measure(name: str, theirs: Any, budget: float) -> dict[str, Any]:
    """One row: microseconds of both, and ours over SciPy's (below 1 is faster)."""
    x = np.random.default_rng(1).random(theirs.shape[1])
    A, vector, y = asarray(theirs), asarray(x), Tensor(Dense(Element(0.0)))
    spmv(y, A, vector)
    np.testing.assert_allclose(y.to_numpy(), theirs @ x, rtol=1e-9, atol=1e-9 * abs(theirs).max())
    timing = compare({"finch": lambda: spmv(y, A, vector), "scipy": lambda: theirs @ x}, budget)
    finch, scipy_ = timing["finch"].seconds * 1e6, timing["scipy"].seconds * 1e6
    return {
        "matrix": name,
        "rows": theirs.shape[0],
        "stored": theirs.nnz,
        "finch us": finch,
        "scipy us": scipy_,
        "finch/scipy": finch / scipy_,
    }


def run(data: Path | None, budget: float) -> list[dict[str, Any]]:
    """A row for each matrix, and the geometric mean of the ratios where there are several."""
    rows = [measure(name, matrix, budget) for name, matrix in matrices(data)]
    if len(rows) > 1:
        mean = float(np.exp(np.mean([np.log(row["finch/scipy"]) for row in rows])))
        empty = dict.fromkeys(rows[0], "")
        rows.append({**empty, "matrix": "geometric mean", "finch/scipy": mean})
    return rows
