"""Linear algebra. Decompositions and solutions are NumPy's, of dense matrices alone: a sparse one
is refused, not made dense."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array import reductions as red
from finch_array.axes import axis_of
from finch_array.operands import array_of, is_dense
from finch_array.products import kron, matmul, matrix_transpose, outer, tensordot, vecdot
from finch_array.reductions import array_operand
from finch_array.run import coordinates, sorted_tensor
from finch_core.errors import DimensionMismatch, FormatError


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Diagonal ``offset`` of matrices, as the last dimension."""
    array = _matrices(x)
    n, m = array.shape[-2:]
    length = max(0, min(n + min(offset, 0), m - max(offset, 0)))
    if is_dense(array):
        return array_of(np.ascontiguousarray(np.diagonal(array.to_numpy(), offset, -2, -1)))
    shape, coords, values = coordinates(array)
    on = coords[-1] - coords[-2] == offset
    place = np.minimum(coords[-2], coords[-1])[on]
    kept = [*(c[on] for c in coords[:-2]), place]
    return sorted_tensor((*shape[:-2], length), kept, values[on], array.fill_value)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of diagonal ``offset`` of matrices."""
    return red.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of 3 elements along ``axis``."""
    a, b = array_of(x1), array_of(x2)
    if a.shape[axis_of(axis, a.ndim)] != 3 or b.shape[axis_of(axis, b.ndim)] != 3:
        raise DimensionMismatch(f"cross of arrays of shapes {a.shape} and {b.shape} along {axis}")
    from finch_array.manipulation import stack, unstack

    (a0, a1, a2), (b0, b1, b2) = unstack(a, axis=axis), unstack(b, axis=axis)
    times, minus = fn.multiply, fn.FUNCTIONS["subtract"]
    parts = [
        minus(times(a1, b2), times(a2, b1)),
        minus(times(a2, b0), times(a0, b2)),
        minus(times(a0, b1), times(a1, b0)),
    ]
    return stack([array_operand(part) for part in parts], axis=axis)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm ``ord`` of vectors along ``axis``, or of all elements."""
    array = array_operand(x)
    if array.dtype.kind not in "fc":
        array = fn.cast(array, np.float64)
    size = array_operand(fn.abs(array))
    options = {"axis": axis, "keepdims": keepdims}
    if ord == np.inf:
        return red.max(size, **options)
    if ord == -np.inf:
        return red.min(size, **options)
    if ord == 0:
        return array_operand(fn.cast(red.count_nonzero(size, **options), size.dtype))
    if ord == 1:
        return red.sum(size, **options)
    if ord == 2:
        return array_operand(fn.FUNCTIONS["sqrt"](red.sum(fn.multiply(size, size), **options)))
    power = fn.FUNCTIONS["pow"]
    return array_operand(power(red.sum(power(size, float(ord)), **options), 1.0 / ord))


norm = vector_norm


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm ``ord`` of matrices. Those of singular values are of dense matrices alone."""
    array = _matrices(x)
    if ord == "fro":
        return vector_norm(array, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        sums = red.sum(fn.abs(array), axis=-2 if abs(ord) == 1 else -1, keepdims=True)
        found = (red.max if ord > 0 else red.min)(sums, axis=(-2, -1), keepdims=keepdims)
        return found
    return array_of(
        np.asarray(np.linalg.matrix_norm(_dense("matrix_norm", x), keepdims=keepdims, ord=ord))
    )


def matrix_power(x: Any, n: int, /) -> Any:
    """A square matrix multiplied by itself ``n`` times; sparse for ``n`` of 0 or more."""
    array = _matrices(x)
    if array.shape[-1] != array.shape[-2]:
        raise DimensionMismatch(f"a power of matrices of shape {array.shape[-2:]}")
    if is_dense(array) or n < 0:
        return array_of(np.linalg.matrix_power(_dense("matrix_power", x), n))
    if n == 0:
        from finch_array.creation import eye
        from finch_array.manipulation import broadcast_to

        return broadcast_to(eye(array.shape[-1], dtype=array.dtype), array.shape)
    result = None
    while n:
        if n & 1:
            result = array if result is None else matmul(result, array)
        n >>= 1
        array = matmul(array, array) if n else array
    return result


def _matrices(x: Any) -> Any:
    array = array_of(x)
    if array.ndim < 2:
        raise DimensionMismatch(f"an array of shape {array.shape} is no matrix")
    return array


# -- of dense matrices ------------------------------------------------------------------------


def _dense(name: str, x: Any) -> Any:
    """A NumPy array of a dense matrix. Raises ``FormatError`` for another."""
    array = array_of(x)
    if not is_dense(array):
        raise FormatError(
            f"{name} is of dense arrays, and this one is not",
            hint="np.asarray(A) makes it dense; scipy.sparse.linalg has solvers for A.to_scipy()",
        )
    return array.to_numpy()


def _of_numpy(name: str, *fields: str) -> Any:
    """NumPy's function of this name, for dense arrays; ``fields`` are those of its results."""
    result = namedtuple(f"{name.title()}Result", fields) if fields else None

    def function(*args: Any, **options: Any) -> Any:
        found = getattr(np.linalg, name)(*(_dense(name, x) for x in args), **options)
        if result is None:
            return array_of(np.ascontiguousarray(found))
        return result(*(array_of(np.ascontiguousarray(part)) for part in found))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.linalg.{name}`` of dense arrays; ``FormatError`` for others."
    return function


cholesky, det, inv, pinv = (_of_numpy(n) for n in ("cholesky", "det", "inv", "pinv"))
solve, matrix_rank, svdvals = (_of_numpy(n) for n in ("solve", "matrix_rank", "svdvals"))
eigvalsh, eigvals = _of_numpy("eigvalsh"), _of_numpy("eigvals")
eig = _of_numpy("eig", "eigenvalues", "eigenvectors")
eigh = _of_numpy("eigh", "eigenvalues", "eigenvectors")
qr, svd = _of_numpy("qr", "Q", "R"), _of_numpy("svd", "U", "S", "Vh")
slogdet = _of_numpy("slogdet", "sign", "logabsdet")

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "kron",
    "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "norm", "outer",
    "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip
