"""Sparse matrix times vector, by rows, by columns and from one triangle, in the format that fits.

    python docs/examples/spmv_formats.py [matrix.mtx or matrix.mtx.gz]

The programs name no format: ``finch_levels.choose_format`` measures the matrix, says which format
suits it, and after how many products the conversion pays; the compiler does the rest. (Paper,
Figure "Finch row-major, column-major and symmetric SpMV Programs".)
"""

from __future__ import annotations

import sys
from typing import Any

import attrs
import numpy as np
import scipy.io
import scipy.sparse

from finch_core import Tensor, _, asarray, kernel
from finch_levels import Dense, Element, Scalar, SparseList, choose_format
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


# -- all the ways, by name --------------------------------------------------------------------


def zero(matrix: Any) -> Any:
    """What a matrix has where nothing is stored: a double, or a complex number of two."""
    return np.result_type(matrix.dtype, np.float64).type(0)


def baseline(matrix: Any) -> Any:
    """Lists in each row, or column, of a transposed one: what SciPy has."""
    return Dense(SparseList(Element(zero(matrix)), index=np.int32, pointer=np.int32))


@attrs.frozen
class Way:
    """A program and the matrix as it reads it: ``way(y, x)`` is the product."""

    program: Any
    operands: tuple[Any, ...]

    def __call__(self, y: Any, x: Any) -> Any:
        return self.program(y, *self.operands, x)

    def bind(self, y: Any, x: Any) -> Any:
        """A call to be repeated on the same ``y`` and ``x``, whose values may change."""
        return self.program.bind(y, *self.operands, x)


def ways(matrix: Any) -> dict[str, Way]:
    """The programs that apply to a SciPy CSR matrix, by name.

    Whatever they need of the matrix, if not the matrix itself, is converted before, once.
    """
    found = {
        "rows": _rows(asarray(matrix)),  # SciPy's own memory
        "columns": _columns(matrix),
        "chosen": _rows(stored(matrix, choose_format(matrix, pattern=True).format)),
    }
    if is_symmetric(matrix) and matrix.dtype.kind != "c":
        found["symmetric"] = _symmetric(matrix)
    return found


def is_symmetric(matrix: Any) -> bool:
    return matrix.shape[0] == matrix.shape[1] and (matrix != matrix.T).nnz == 0


def _rows(A: Tensor) -> Way:
    return Way(by_rows, (A,))


def stored(matrix: Any, format: Any) -> Tensor:
    """A SciPy matrix in this format; over a Pattern only where it is nonzero counts."""
    return Tensor(format, matrix.astype(format.dtype))


def _columns(matrix: Any) -> Way:
    return Way(by_columns, (swizzle(stored(matrix.T.tocsr(), baseline(matrix)), (1, 0)),))


def _symmetric(matrix: Any) -> Way:
    # the triangle is taken once, here: a mask j > i in the loop would change its exit condition
    U = stored(scipy.sparse.triu(matrix, 1).tocsr(), baseline(matrix))
    return Way(symmetric, (U, matrix.diagonal()))


def main(arguments: list[str]) -> None:
    if arguments:
        matrix = scipy.sparse.csr_array(scipy.io.mmread(arguments[0]))
    else:
        offsets = range(-15, 16)
        matrix = scipy.sparse.diags_array([1.0 + abs(k) for k in offsets], offsets=offsets,
                                          shape=(1000, 1000)).tocsr()  # fmt: skip
    matrix.sum_duplicates()
    x = np.random.default_rng(0).random(matrix.shape[1]).astype(zero(matrix).dtype)
    print(choose_format(matrix, pattern=True, symmetric=True))
    for name, way in ways(matrix).items():
        y = way(Tensor(Dense(Element(zero(matrix)))), x)
        np.testing.assert_allclose(y.to_numpy(), matrix @ x, rtol=1e-9, atol=1e-12)
        print(f"{name}: agrees with SciPy")


if __name__ == "__main__":
    main(sys.argv[1:])
