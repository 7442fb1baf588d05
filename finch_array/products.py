"""Products of arrays: sums of products over shared indices, by one kernel each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array.axes import axis_of
from finch_array.operands import (
    NUMBERS,
    array_of,
    is_dense,
    is_lazy,
    operand,
    stored,
)
from finch_array.reductions import array_operand, wide_dtype
from finch_array.remembered import comes_again, key_of, recall, remember
from finch_array.requests import Request, letters
from finch_array.run import as_seen, run, settled_plan
from finch_core.errors import DimensionMismatch
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Call, Cast, Expr
from finch_core.runtime.tensor import Tensor


def sum_of_products(
    name: str, arrays: Sequence[Any], inputs: Sequence[tuple[str, ...]], out: tuple[str, ...],
    dtype: np.dtype[Any] | None = None,
) -> Any:  # fmt: skip
    """``out[...] += arrays[0][...] * arrays[1][...] * ...`` in ``dtype`` (default: the common one);
    half floats in single precision, rounded once."""
    dtype = dtype or np.result_type(*(x.dtype for x in arrays))
    key, request = product(name, arrays, inputs, out, dtype=wide_dtype(dtype))
    found = run(key, request, arrays)
    return found if found.dtype == dtype else fn.cast(found, dtype)


def product(
    name: str, arrays: Sequence[Any], inputs: Sequence[tuple[str, ...]], out: tuple[str, ...],
    exact: frozenset[str] = frozenset(), dtype: np.dtype[Any] | None = None,
) -> tuple[Any, Callable[[], Request]]:  # fmt: skip
    """The key and the request of a sum of products of arrays like these, computed in ``dtype``
    (default: to which theirs are promoted; ``exact``: see ``Request``)."""
    dtype = dtype or np.result_type(*(x.dtype for x in arrays))
    times, plus = (prim.and_, prim.or_) if dtype.kind == "b" else (prim.mul, prim.add)

    def value(*exprs: Expr) -> Expr:
        found: Expr = Cast(exprs[0], dtype) if dtypes[0] != dtype else exprs[0]
        for expr, own in zip(exprs[1:], dtypes[1:], strict=True):
            found = Call(times, (found, Cast(expr, dtype) if own != dtype else expr))
        return found

    dtypes = [x.dtype for x in arrays]
    key = (name, tuple(inputs), out, dtype, *dtypes)
    return key, lambda: Request(name, value, tuple(inputs), out, plus, exact=exact)


def matmul(x1: Any, x2: Any, /) -> Any:
    """The matrix product, of the dtype to which both are promoted; of stacks of matrices too. Half
    floats are summed in single precision, and rounded once.
    Raises ``DimensionMismatch`` for arrays without dimensions and for lengths that disagree."""
    like = key_of(x1, x2)
    if like is not None and (known := recall(like)) is not None:
        return known(x1, x2)
    a, b = operand(x1), operand(x2)
    if (a.__class__ is not Tensor and isinstance(a, NUMBERS)) or isinstance(b, NUMBERS):
        raise DimensionMismatch("matmul of a number, or an array without dimensions", hint="x * y")
    try:
        made = _matmuls[a.signature, b.signature]
    except KeyError:
        made = _remembered_matmul(a, b)
    if made is None:
        return _dense_matmul(a, b)
    key, request, dtype, form = made
    if form is not None and (other := form(a, b)) is not None:
        return other
    found = run(key, request, [a, b])
    if found.dtype != dtype:  # of half floats, summed in single precision
        return fn.cast(found, dtype)
    if like is not None and comes_again(like):
        ready = settled_plan(key, [a, b])
        if ready is not None:
            remember(like, ready, x1, x2)
    return found


Form = Callable[[Any, Any], Any]
"""Another form of a product of two arrays; None where it does not pay, or lengths disagree."""
Product = tuple[Any, Callable[[], Request], np.dtype[Any], Form | None]
"""The key and the request of a product, the dtype of the result, and another form of it."""
_matmuls: dict[Any, Product | None] = {}
MOST = 4096
"""The most pairs of formats whose products are remembered."""


def _remembered_matmul(a: Any, b: Any) -> Product | None:
    if len(_matmuls) >= MOST:
        _matmuls.clear()
    found = _matmuls[a.signature, b.signature] = _matmul_of(a, b)
    return found


def _matmul_of(a: Any, b: Any) -> Product | None:
    """The matrix product of arrays like these by a kernel; None for dense ones, of NumPy."""
    if is_dense(a) and is_dense(b):
        return None
    ndim = max(a.ndim, b.ndim, 2)
    stack = letters(ndim - 2)
    left = (*stack[ndim - a.ndim :], "r", "k")[-a.ndim :] if a.ndim > 1 else ("k",)
    right = (*stack[ndim - b.ndim :], "k", "c")[-b.ndim :] if b.ndim > 1 else ("k",)
    out = stack + ("r",) * (a.ndim > 1) + ("c",) * (b.ndim > 1)
    dtype = np.matmul.resolve_dtypes((a.dtype, b.dtype, None))[-1]
    key, request = product(
        "matmul", [a, b], [left, right], out, frozenset({"k"}), wide_dtype(dtype)
    )
    form = None
    if a.ndim == 2 == b.ndim:
        form = _of_a_row if is_dense(a) else _of_a_column if is_dense(b) else None
    return key, request, dtype, form


def _of_a_column(a: Any, b: Any) -> Any:
    """``a @ b`` of a dense ``b`` of one column, as that of a vector."""
    if b.shape[1] != 1 or a.shape[1] != b.shape[0]:
        return None
    return _matrix_of(matmul(a, b.to_numpy()[:, 0]), 1)


def _of_a_row(a: Any, b: Any) -> Any:
    """``a @ b`` of a dense ``a`` of one row, as that of a vector."""
    if a.shape[0] != 1 or a.shape[1] != b.shape[0]:
        return None
    return _matrix_of(matmul(a.to_numpy()[0], b), 0)


def _matrix_of(vector: Any, axis: int) -> Any:
    """A vector with a dimension of 1 at ``axis``."""
    from finch_array.manipulation import expand_dims

    if is_dense(vector):
        return array_of(np.expand_dims(vector.to_numpy(), axis))
    return expand_dims(vector, axis=axis)


def _dense_matmul(a: Any, b: Any) -> Any:
    n, m = a.shape[-1], b.shape[-1 if b.ndim == 1 else -2]
    if n != m:
        raise DimensionMismatch(
            f"matmul of arrays of shapes {a.shape}, {b.shape}: {n} and {m} do not agree"
        )
    return array_of(np.asarray(np.matmul(a.to_numpy(), b.to_numpy())))


def tensordot(x1: Any, x2: Any, /, axes: Any = 2) -> Any:
    """The sum of products over ``axes``: how many of the last and first ones, or two sequences.

    Raises ``DimensionMismatch`` unless their lengths agree.
    """
    a, b = array_operand(x1), array_operand(x2)
    left, right = _paired(a, b, axes)
    names_a = [f"a{k}" for k in range(a.ndim)]
    names_b = [f"b{k}" for k in range(b.ndim)]
    for p, q in zip(left, right, strict=True):
        if a.shape[p] != b.shape[q]:
            raise DimensionMismatch(f"tensordot of shapes {a.shape} and {b.shape} over {axes}")
        names_b[q] = names_a[p]
    if a.ndim == 0 or b.ndim == 0:
        return fn.multiply(a, b)
    if is_dense(a) and is_dense(b):
        return array_of(np.asarray(np.tensordot(a.to_numpy(), b.to_numpy(), (left, right))))
    out = [n for k, n in enumerate(names_a) if k not in left]
    out += [n for k, n in enumerate(names_b) if k not in right]
    return sum_of_products("tensordot", [a, b], [tuple(names_a), tuple(names_b)], tuple(out))


def _paired(a: Any, b: Any, axes: Any) -> tuple[list[int], list[int]]:
    if isinstance(axes, (int, np.integer)):
        n = int(axes)
        if n < 0 or n > min(a.ndim, b.ndim):
            raise DimensionMismatch(f"tensordot over {n} axes of shapes {a.shape} and {b.shape}")
        return list(range(a.ndim - n, a.ndim)), list(range(n))
    left, right = axes
    left = left if isinstance(left, (tuple, list)) else (left,)
    right = right if isinstance(right, (tuple, list)) else (right,)
    if len(left) != len(right):
        raise DimensionMismatch(f"tensordot over axes of unequal number, {axes}")
    return [axis_of(p, a.ndim) for p in left], [axis_of(q, b.ndim) for q in right]


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The sum of ``conj(x1) * x2`` along ``axis``, with broadcasting.

    Raises ``DimensionMismatch`` unless their lengths agree.
    """
    a, b = array_operand(x1), array_operand(x2)
    p, q = axis_of(axis, a.ndim), axis_of(axis, b.ndim)
    if a.shape[p] != b.shape[q]:
        raise DimensionMismatch(f"vecdot of shapes {a.shape} and {b.shape} along {axis}")
    a = fn.conj(a) if a.dtype.kind == "c" else a
    ndim = max(a.ndim, b.ndim) - 1
    left, right = list(letters(a.ndim - 1, ndim)), list(letters(b.ndim - 1, ndim))
    left.insert(p, "k")
    right.insert(q, "k")
    return sum_of_products("vecdot", [a, b], [tuple(left), tuple(right)], letters(ndim))


def outer(x1: Any, x2: Any, /) -> Any:
    """The products of all pairs of elements of two vectors.

    Raises ``DimensionMismatch`` for arrays of more dimensions.
    """
    a, b = array_operand(x1), array_operand(x2)
    if a.ndim != 1 or b.ndim != 1:
        raise DimensionMismatch(
            f"outer of arrays of shapes {a.shape} and {b.shape}", hint="of vectors"
        )
    key = ("outer",)
    return run(
        key,
        lambda: Request("outer", lambda x, y: Call(prim.mul, (x, y)), (("r",), ("c",)), ("r", "c")),
        [a, b],
    )


def matrix_transpose(x: Any, /) -> Any:
    """The last two dimensions exchanged, without a copy. Raises ``DimensionMismatch`` for fewer."""
    from finch_array.manipulation import permute_dims

    array = x if is_lazy(x) else array_of(x)
    if array.ndim < 2:
        raise DimensionMismatch(f"an array of {array.ndim} dimensions is no matrix")
    axes = list(range(array.ndim))
    axes[-2:] = axes[-1], axes[-2]
    return permute_dims(array, tuple(axes))


def transposed_matrix(x: Any) -> Any:
    """``x.T``: of a matrix; an array of other dimensions has all of them reversed, as in NumPy."""
    if is_lazy(x):
        from finch_array.manipulation import permute_dims

        return permute_dims(x, tuple(reversed(range(x.ndim))))
    if x.__class__ is Tensor:
        return as_seen(x, range(x.layout.ndim - 1, -1, -1))
    inner = stored(x)
    last = len(inner.axes) - 1
    return as_seen(inner.source, tuple([last - axis for axis in inner.axes]))


def dot(a: Any, b: Any) -> Any:
    """``a @ b``, as SciPy's arrays have it: of NumPy's array an array of NumPy, where the result is
    dense. Numbers multiply."""
    x, y = operand(a), operand(b)
    if isinstance(x, NUMBERS) or isinstance(y, NUMBERS):
        return fn.multiply(x, y)
    found = matmul(x, y)
    return found.to_numpy() if isinstance(b, np.ndarray) and is_dense(found) else found
