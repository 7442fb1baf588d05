"""Linear algebra. Decompositions and solutions are NumPy's, of dense matrices alone: a sparse one
is refused, not made dense."""

from __future__ import annotations

import operator
from collections import namedtuple
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array import reductions as red
from finch_array import taking
from finch_array.axes import axes_of, axis_of
from finch_array.joining import moves_in_pieces
from finch_array.kronecker import kron
from finch_array.operands import array_of, is_dense
from finch_array.products import matmul, matrix_transpose, outer, tensordot, vecdot
from finch_array.reductions import array_operand
from finch_array.run import coordinates, sorted_tensor
from finch_core.errors import DimensionMismatch, FormatError
from finch_core.runtime.tensor import Tensor


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Diagonal ``offset`` of matrices, as the last dimension of an array with one dimension less.
    Raises ``DimensionMismatch`` for fewer than two dimensions."""
    array, offset = _matrices(x), operator.index(offset)
    n, m = array.shape[-2:]
    length = max(0, min(n + min(offset, 0), m - max(offset, 0)))
    if is_dense(array):
        return array_of(np.ascontiguousarray(np.diagonal(array.to_numpy(), offset, -2, -1)))
    if moves_in_pieces(array):
        return taking.diagonal(array, offset, length)
    shape, coords, values = coordinates(array, shared=True)
    rows, columns = coords[-2:]
    (on,) = (columns == (rows + offset if offset else rows)).nonzero()
    kept = [c[on] for c in coords[:-2]]
    kept.append((rows if offset >= 0 else columns)[on])
    return sorted_tensor(
        (*shape[:-2], length), kept, values[on], array.fill_value,
        of=(array,), in_order=array.__class__ is Tensor,
    )  # fmt: skip


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of diagonal ``offset`` of matrices, two dimensions less; dtypes are those of ``sum``.
    Raises ``DimensionMismatch`` for fewer than two dimensions."""
    return red.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of 3 elements along ``axis``.

    Raises ``DimensionMismatch`` for others.
    """
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
    """The norm ``ord``, a number or an infinity, of vectors along ``axis``, or of all elements: a
    real float, float64 of integers. Raises ``OutOfBounds`` for an axis that ``x`` lacks, and
    ``ValueError`` for an ``ord`` that is no number."""
    if isinstance(ord, str):
        raise ValueError(f"the norm of vectors has a number as ord, not {ord!r}: 'fro' is its 2")
    array = array_operand(x)
    if array.dtype.kind not in "fc":
        array = fn.cast(array, np.float64)
    options = {"axis": axis, "keepdims": keepdims}
    real = array.dtype.kind == "f"
    size = array if ord == 2 and real else array_operand(fn.abs(array))
    if ord == np.inf:
        return red.max(size, **options)
    if ord == -np.inf:
        return red.min(size, **options)
    if ord == 0:
        return array_operand(fn.cast(red.count_nonzero(size, **options), size.dtype))
    if ord == 1:
        return red.sum(size, **options)
    if ord == 2:
        found = red.root(red.sum_of_squares(size, **options))
        return found if found.dtype == size.dtype else fn.cast(found, size.dtype)
    power = fn.FUNCTIONS["pow"]
    return array_operand(power(red.sum(power(size, float(ord)), **options), 1.0 / ord))


def norm(x: Any, /, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of NumPy and SciPy: ``ord`` of vectors along one axis, of matrices along two axes,
    or of an array of two dimensions; without ``ord`` the root of the sum of squares, of all
    elements or along ``axis``. A real float, float64 of integers. Raises ``OutOfBounds`` for an
    axis that ``x`` lacks, ``ValueError`` for an ``ord`` that vectors, or matrices, do not have, and
    ``FormatError`` for the singular values of a sparse matrix (``ord`` of 2, -2 and "nuc")."""
    array = array_operand(x)
    sorted_axes = axes_of(axis, array.ndim)
    if ord is None or (len(sorted_axes) == 1 and ord not in ("fro", "nuc")):
        return vector_norm(array, axis=axis, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(sorted_axes) != 2:
        raise ValueError(
            f"the norm {ord!r} is of matrices, not along {len(sorted_axes)} axes: give two of them "
            "as axis=, or no ord="
        )
    pair = sorted_axes if axis is None else tuple([axis_of(a, array.ndim) for a in axis])
    return _norm_of_matrices("norm", array, pair, keepdims, ord)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm ``ord`` of matrices, the last two dimensions: a real float. Those of singular values
    are of dense matrices alone. Raises ``DimensionMismatch`` for fewer dimensions, ``FormatError``
    for a sparse matrix where it must be dense, and ``ValueError`` for another ``ord``."""
    array = _matrices(x)
    return _norm_of_matrices("matrix_norm", array, (array.ndim - 2, array.ndim - 1), keepdims, ord)


def _norm_of_matrices(name: str, array: Any, axes: Any, keepdims: bool, ord: Any) -> Any:
    """The norm of matrices whose rows and columns are along two axes."""
    if ord == "fro":
        return vector_norm(array, axis=axes, keepdims=keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        array = array if array.dtype.kind in "fc" else fn.cast(array, np.float64)
        sums = red.sum(fn.abs(array), axis=axes[0 if abs(ord) == 1 else 1], keepdims=True)
        found = (red.max if ord > 0 else red.min)(sums, axis=axes, keepdims=keepdims)
        return found
    if ord not in (2, -2, "nuc"):
        raise ValueError(
            f"{name} of ord={ord!r}: of matrices it is 'fro', 1, -1, inf, -inf, or of dense ones "
            "2, -2 and 'nuc'"
        )
    found = np.linalg.norm(_dense(name, array), ord=ord, axis=axes, keepdims=keepdims)
    return array_of(np.asarray(found))


def matrix_power(x: Any, n: int, /) -> Any:
    """A square matrix multiplied by itself ``n`` times; sparse for ``n`` of 0 or more.

    Raises ``DimensionMismatch`` if it is not square.
    """
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


def _of_numpy(name: str, *args: Any, **options: Any) -> Any:
    """The result of NumPy's function of this name on dense arrays."""
    found = _called(name, args, options)
    return array_of(np.ascontiguousarray(found).reshape(np.shape(found)))


def _parts_of_numpy(result: Any, name: str, *args: Any, **options: Any) -> Any:
    """The results of NumPy's function of this name on dense arrays, as a named tuple."""
    found = _called(name, args, options)
    return result(*(array_of(np.ascontiguousarray(part).reshape(np.shape(part))) for part in found))


def _called(name: str, args: Any, options: Any) -> Any:
    return getattr(np.linalg, name)(*(_dense(name, x) for x in args), **options)


Eigen = namedtuple("Eigen", ["eigenvalues", "eigenvectors"])
QR = namedtuple("QR", ["Q", "R"])
SVD = namedtuple("SVD", ["U", "S", "Vh"])
Determinant = namedtuple("Determinant", ["sign", "logabsdet"])


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The Cholesky factor of dense matrices, lower or ``upper``, of their shape. Raises
    ``FormatError`` for a sparse array, and ``LinAlgError`` as NumPy does."""
    return _of_numpy("cholesky", x, upper=upper)


def det(x: Any, /) -> Any:
    """The determinants of dense matrices, two dimensions less. Raises ``FormatError`` for a sparse
    array, and ``LinAlgError`` as NumPy does."""
    return _of_numpy("det", x)


def eig(x: Any, /) -> Any:
    """The eigenvalues and eigenvectors of dense matrices; complex. Raises ``FormatError`` for a
    sparse array, and ``LinAlgError`` as NumPy does."""
    return _parts_of_numpy(Eigen, "eig", _complex(x))


def _complex(x: Any) -> Any:
    found = _dense("eig", x)
    return found.astype(np.result_type(found.dtype, np.complex64))


def eigh(x: Any, /) -> Any:
    """The eigenvalues (real, increasing) and eigenvectors of dense symmetric matrices. Raises
    ``FormatError`` for a sparse array, and ``LinAlgError`` as NumPy does."""
    return _parts_of_numpy(Eigen, "eigh", x)


def eigvals(x: Any, /) -> Any:
    """The eigenvalues of dense matrices; complex. Raises ``FormatError`` for a sparse array, and
    ``LinAlgError`` as NumPy does."""
    return _of_numpy("eigvals", _complex(x))


def eigvalsh(x: Any, /) -> Any:
    """The eigenvalues of dense symmetric matrices; real, increasing. Raises ``FormatError`` for a
    sparse array, and ``LinAlgError`` as NumPy does."""
    return _of_numpy("eigvalsh", x)


def inv(x: Any, /) -> Any:
    """The inverses of dense matrices, of their shape. Raises ``FormatError`` for a sparse array,
    and ``LinAlgError`` as NumPy does."""
    return _of_numpy("inv", x)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """The ranks of dense matrices, as int64. Raises ``FormatError`` for a sparse array, and
    ``LinAlgError`` as NumPy does."""
    return _of_numpy("matrix_rank", x, rtol=rtol)


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The pseudo-inverses of dense matrices, with the last two dimensions exchanged. Raises
    ``FormatError`` for a sparse array, and ``LinAlgError`` as NumPy does."""
    return _of_numpy("pinv", x, rtol=rtol)


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """The QR decomposition of dense matrices. Raises ``FormatError`` for a sparse array, and
    ``LinAlgError`` as NumPy does."""
    return _parts_of_numpy(QR, "qr", x, mode=mode)


def slogdet(x: Any, /) -> Any:
    """The signs and logarithms of the determinants of dense matrices. Raises ``FormatError`` for a
    sparse array, and ``LinAlgError`` as NumPy does."""
    return _parts_of_numpy(Determinant, "slogdet", x)


def solve(x1: Any, x2: Any, /) -> Any:
    """The solutions of ``x1 @ y == x2`` for dense matrices, in the shape of ``x2``. Raises
    ``FormatError`` for a sparse array, and ``LinAlgError`` as NumPy does."""
    a, b = _dense("solve", x1), _dense("solve", x2)
    found = np.linalg.solve(a, b[:, None])[..., 0] if b.ndim == 1 else np.linalg.solve(a, b)
    return array_of(np.ascontiguousarray(found))


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """The singular value decomposition of dense matrices. Raises ``FormatError`` for a sparse
    array, and ``LinAlgError`` as NumPy does."""
    return _parts_of_numpy(SVD, "svd", x, full_matrices=full_matrices)


def svdvals(x: Any, /) -> Any:
    """The singular values of dense matrices; real, decreasing. Raises ``FormatError`` for a sparse
    array, and ``LinAlgError`` as NumPy does."""
    return _of_numpy("svdvals", x)


__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "kron",
    "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "norm", "outer",
    "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip
