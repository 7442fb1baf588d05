"""Sparse matrix times vector, by rows, by columns and from one triangle, in the format that fits.

    python docs/examples/spmv_formats.py [matrix.mtx or matrix.mtx.gz]

The programs name no format: ``choose_format`` measures the matrix and says which one suits it, and
the compiler does the rest. (Paper, Figure "Finch row-major, column-major and symmetric SpMV
Programs".)
"""

from __future__ import annotations

import sys
from typing import Any

import attrs
import numpy as np
import scipy.io
import scipy.sparse

from finch_core import Tensor, _, asarray, kernel
from finch_levels import (
    Dense,
    Element,
    Pattern,
    Scalar,
    SparseBand,
    SparseBlockList,
    SparseInterval,
    SparseList,
    SparsePinpoint,
)
from finch_wrappers import swizzle


@kernel
def by_rows(y, A, x):
    """``y = A @ x``, each row summed in a register. ``A[i, j]`` is stored by rows."""
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


@kernel
def by_columns(y, A, x):
    """``y = A @ x``, each column scattered. ``A[i, j]`` is stored by columns (a swizzle)."""
    y[...] = 0
    for j, i in _:
        y[i] += A[i, j] * x[j]
    return y


@kernel
def symmetric(y, U, diagonal, x):
    """``y = (U + diag(diagonal) + U.T) @ x`` where ``U`` is strictly upper triangular: each
    element is read once and used twice."""
    y[...] = 0
    for i in _:
        x_i = x[i]
        y_i = Scalar(0.0)
        for j in _:
            U_ij = U[i, j]
            y[j] += U_ij * x_i
            y_i[()] += U_ij * x[j]
        y[i] += y_i[()] + diagonal[i] * x_i
    return y


# -- choosing a format ------------------------------------------------------------------------


@attrs.frozen
class Structure:
    """What there is to know of a CSR matrix: per-row figures, averaged over what is stored."""

    density: float
    """The part of all elements that is stored."""
    band_filling: float
    """The part that is stored of the elements from each row's first to its last stored one."""
    block_length: float
    """Stored elements in a stretch of adjacent columns."""
    most_in_a_row: int
    most_runs_in_a_row: int
    """Stretches of adjacent equal elements."""
    all_ones: bool
    is_symmetric: bool


@attrs.frozen
class Choice:
    """A format for the matrix, and why this one."""

    format: Any
    why: str


def measured(matrix: Any) -> Structure:
    """The structure of a SciPy CSR matrix with sorted rows, in time linear in what it stores."""
    counts = np.diff(matrix.indptr)
    stored, filled = matrix.nnz, counts > 0
    first = matrix.indices[matrix.indptr[:-1][filled]]
    last = matrix.indices[matrix.indptr[1:][filled] - 1]
    starts = np.ones(stored, dtype=bool)
    starts[1:] = np.diff(matrix.indices) != 1
    starts[matrix.indptr[:-1][filled]] = True
    run_starts = starts | (np.diff(matrix.data, prepend=0) != 0)
    runs = np.add.reduceat(run_starts, matrix.indptr[:-1][filled]) if stored else np.zeros(1)
    return Structure(
        density=stored / max(1, matrix.shape[0] * matrix.shape[1]),
        band_filling=stored / max(1, int(np.sum(last.astype(np.int64) - first + 1))),
        block_length=stored / max(1, int(np.count_nonzero(starts))),
        most_in_a_row=int(counts.max(initial=0)),
        most_runs_in_a_row=int(runs.max()),
        all_ones=bool(np.all(matrix.data == 1)),
        is_symmetric=matrix.shape[0] == matrix.shape[1] and (matrix != matrix.T).nnz == 0,
    )


def choose_format(matrix: Any) -> Choice:
    """The row-major format that suits a SciPy CSR matrix with sorted rows."""
    found = measured(matrix)
    leaf: Any = Pattern() if found.all_ones else Element(zero(matrix))
    values = "all values are 1: none is stored" if found.all_ones else "values are stored"
    level, why = _choose_level(found)
    # int32 halves the traffic of the coordinates, wherever they fit
    width = np.int32 if max(*matrix.shape, matrix.nnz) < 2**31 else np.int64
    if level is Dense:
        return Choice(Dense(Dense(Element(zero(matrix)))), why)
    if level in (SparsePinpoint, SparseInterval):  # they need no pointers
        return Choice(Dense(level(leaf, index=width)), f"{why}; {values}")
    return Choice(Dense(level(leaf, index=width, pointer=width)), f"{why}; {values}")


def _choose_level(found: Structure) -> tuple[Any, str]:
    if found.most_in_a_row == 1:
        return SparsePinpoint, "at most one element a row: no loop within it"
    if found.most_runs_in_a_row == 1:
        return SparseInterval, "one run of equal elements a row: one value, two ends"
    if found.density > 0.7:
        return Dense, f"{found.density:.0%} is stored: coordinates would cost more than zeros"
    if found.band_filling > 0.8 and found.block_length >= 3:
        why = f"{found.band_filling:.0%} of each row's stretch is stored: one block a row"
        return SparseBand, why
    if found.block_length >= 4:
        return SparseBlockList, f"{found.block_length:.1f} adjacent elements a block"
    return SparseList, f"{found.block_length:.1f} adjacent elements a block: a plain list"


# -- all the ways, by name --------------------------------------------------------------------


def zero(matrix: Any) -> Any:
    """What a matrix has where nothing is stored: a double, or a complex number of two."""
    return np.result_type(matrix.dtype, np.float64).type(0)


def baseline(matrix: Any) -> Any:
    """Lists in each row, or column, of a transposed one: what SciPy has."""
    return Dense(SparseList(Element(zero(matrix)), index=np.int32, pointer=np.int32))


def ways(matrix: Any) -> dict[str, Any]:
    """The programs that apply to a SciPy CSR matrix, by name: functions from ``x`` to ``y``.

    Whatever they need of the matrix, if not the matrix itself, is converted before, once.
    """
    found = {
        "rows": _rows(asarray(matrix)),  # SciPy's own memory
        "columns": _columns(matrix),
        "chosen": _rows(stored(matrix, choose_format(matrix).format)),
    }
    if measured(matrix).is_symmetric and matrix.dtype.kind != "c":
        found["symmetric"] = _symmetric(matrix)
    return found


def _rows(A: Tensor) -> Any:
    return lambda y, x: by_rows(y, A, x)


def stored(matrix: Any, format: Any) -> Tensor:
    """A SciPy matrix in this format; over a Pattern only where it is nonzero counts."""
    return Tensor(format, matrix.astype(format.dtype))


def _columns(matrix: Any) -> Any:
    A = swizzle(stored(matrix.T.tocsr(), baseline(matrix)), (1, 0))
    return lambda y, x: by_columns(y, A, x)


def _symmetric(matrix: Any) -> Any:
    # the triangle is taken once, here: a mask j > i in the loop would change its exit condition
    U = stored(scipy.sparse.triu(matrix, 1).tocsr(), baseline(matrix))
    diagonal = matrix.diagonal()
    return lambda y, x: symmetric(y, U, diagonal, x)


def main(arguments: list[str]) -> None:
    if arguments:
        matrix = scipy.sparse.csr_array(scipy.io.mmread(arguments[0]))
    else:
        offsets = range(-15, 16)
        matrix = scipy.sparse.diags_array([1.0 + abs(k) for k in offsets], offsets=offsets,
                                          shape=(1000, 1000)).tocsr()  # fmt: skip
    matrix.sum_duplicates()
    x = np.random.default_rng(0).random(matrix.shape[1]).astype(zero(matrix).dtype)
    choice = choose_format(matrix)
    print(f"{choice.format!r}\n  because {choice.why}")
    for name, way in ways(matrix).items():
        y = way(Tensor(Dense(Element(zero(matrix)))), x)
        np.testing.assert_allclose(y.to_numpy(), matrix @ x, rtol=1e-9, atol=1e-12)
        print(f"{name}: agrees with SciPy")


if __name__ == "__main__":
    main(sys.argv[1:])
