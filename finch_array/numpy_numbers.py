"""Functions of NumPy that reduce arrays or multiply them, and of sets, on tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array import linalg, searching
from finch_array import reductions as red
from finch_array.axes import axes_of, axis_of
from finch_array.creation import full_like
from finch_array.cumulative import cumulative_prod, cumulative_sum
from finch_array.functions import FUNCTIONS as ELEMENTWISE
from finch_array.indexing import getitem
from finch_array.manipulation import broadcast_to, concat, expand_dims, moveaxis, reshape
from finch_array.numpy_shapes import ravel
from finch_array.operands import NUMBERS, array_of, is_dense, is_lazy
from finch_array.products import matmul, outer, tensordot
from finch_array.run import coordinates
from finch_core.errors import DimensionMismatch

# -- reductions -------------------------------------------------------------------------------


def reduction(own: Callable[..., Any], op: Any, identity: Any) -> Callable[..., Any]:
    """NumPy's reduction: ``where`` says which elements count, ``initial`` is combined with the
    result by ``op``. ``identity`` is what an element that does not count is replaced by; None:
    ``initial``."""

    def reduced(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
        initial: Any = np._NoValue, where: Any = True,
    ) -> Any:  # fmt: skip
        array = array_of(a)
        if not array.ndim and axis.__class__ is int and axis in (0, -1):  # as ufuncs take it
            axis = None
        options: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
        has_start = is_given(initial)
        if where is not True:
            instead = initial if identity is None else identity
            if identity is None and not has_start:
                raise ValueError(f"{own.__name__} with where= needs initial=")
            array = fn.where(where, array, array.dtype.type(instead))
        if has_start and not array.size:
            none, options["initial"] = np.empty(array.shape, array.dtype), initial
            of_numpy = getattr(np, own.__name__)
            return array_of(of_numpy(none, axis=axis, keepdims=keepdims is True, **options))
        found = own(array, axis=axis, keepdims=keepdims is True, **options)
        return op(found, found.dtype.type(initial)) if has_start else found

    return reduced


def is_given(initial: Any) -> bool:
    """Whether a call names the initial value of a reduction."""
    return initial is not np._NoValue and initial is not None


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    *, where: Any = True,
) -> Any:  # fmt: skip
    """The mean of the elements that count, in ``dtype``."""
    array = array_of(a) if dtype is None else fn.cast(a, dtype)
    wanted = red.mean_dtype(array.dtype) if dtype is None else np.dtype(dtype)
    options: dict[str, Any] = {"axis": axis, "keepdims": keepdims is True}
    if where is True:
        found = red.mean(array, **options)
    else:
        counted = fn.where(where, array, array.dtype.type(0))
        wide = np.dtype(np.float32) if wanted == np.float16 else wanted  # as a sum may overflow
        total = red.sum(counted, dtype=wide, **options)
        axes = axes_of(axis, array.ndim)
        number = count_along(array_of(where), array.shape, axes)
        found = red.per_count(total, red.expanded(number, axes) if keepdims is True else number)
    return found if found.dtype == wanted else fn.cast(found, wanted)


def count_along(where: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """How many elements of an array of this shape count along ``axes``, of 1 along dimensions along
    which ``where`` is broadcast."""
    given = reshape(where, (1,) * (len(shape) - where.ndim) + where.shape)
    times = math.prod([shape[k] for k in axes if given.shape[k] == 1])
    found = red.sum(given, axis=axes, dtype=np.int64)
    return fn.multiply(found, times)


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """The mean along ``axis``, each element as often as its weight says. Raises
    ``DimensionMismatch`` for weights of another shape, but for those of one axis, and, as NumPy,
    ``ZeroDivisionError`` for weights whose sum is 0 and for a mean without elements."""
    array, keeps = array_of(a), keepdims is True
    if weights is None:
        found = red.mean(array, axis=axis, keepdims=keeps)
        if not found.size:
            raise ZeroDivisionError(f"an average without elements, of shape {found.shape}")
        return (found, full_like(found, array.size / found.size)) if returned else found
    given = array_of(weights)
    if given.shape != array.shape:
        if given.ndim != 1 or not isinstance(axis, (int, np.integer)):
            raise DimensionMismatch(f"weights of shape {given.shape} for {array.shape}")
        place = axis_of(axis, array.ndim)
        given = reshape(given, tuple(-1 if k == place else 1 for k in range(array.ndim)))
    total = red.sum(fn.multiply(array, given), axis=axis, keepdims=keeps)
    weight = red.sum(broadcast_to(given, array.shape), axis=axis, keepdims=keeps)
    if bool(red.any(ELEMENTWISE["equal"](weight, 0))):
        raise ZeroDivisionError("the weights of an average have the sum 0: there is none")
    found = ELEMENTWISE["divide"](total, weight)
    return (found, weight) if returned else found


def _cumulated(own: Callable[..., Any]) -> Callable[..., Any]:
    """``np.cumsum`` and ``np.cumprod``: without ``axis`` of all elements, in a row."""

    def found(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
        array = ravel(a) if axis is None else array_of(a)
        return own(array, axis=axis or 0, dtype=dtype)

    return found


cumsum, cumprod = _cumulated(cumulative_sum), _cumulated(cumulative_prod)


def _ordered(own: Callable[..., Any]) -> Callable[..., Any]:
    """``np.sort`` and ``np.argsort``: along ``axis`` (None: of all elements, in a row)."""

    def found(a: Any, axis: int | None = -1) -> Any:
        return own(ravel(a), axis=0) if axis is None else own(a, axis=axis)

    return found


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number from 0 up occurs, as a NumPy array; with ``weights``, the sum of
    theirs: of those that are stored, and of their fill for each number. Raises
    ``DimensionMismatch`` unless both have one dimension, of one length."""
    array = array_of(x)
    given = array if weights is None else array_of(weights)
    if array.ndim != 1 or array.shape != given.shape:
        of = "" if weights is None else f", weights of {given.shape}"
        raise DimensionMismatch(f"bincount of shape {array.shape}{of}")
    if not array.size:
        return np.bincount(array.to_numpy(), None, minlength)
    values, counts = (part.to_numpy() for part in searching.unique_counts(x))
    found = np.bincount(values, counts, minlength)
    if weights is None:
        return found.astype(np.intp)
    if is_dense(given) or given.dtype.kind == "c" or not np.isfinite(given.fill_value):
        return np.bincount(array.to_numpy(), given.to_numpy(), minlength)
    _, (places,), there = coordinates(fn.cast(given, np.float64))
    at, fill = getitem(array, places).to_numpy(), float(given.fill_value)
    return np.bincount(at, there - fill, len(found)) + found * fill


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours of all elements, in a row, and what is given for its ends.
    Raises ``TypeError`` for bools, and for ends that are not cast to the dtype of ``ary``, as
    NumPy."""
    array = ravel(ary)
    if array.dtype.kind == "b":
        raise TypeError("ediff1d subtracts, which bools do not: np.diff tells where they differ")
    found = searching.diff(array)
    if to_end is None and to_begin is None:
        return found
    ends = {"to_begin": to_begin, "to_end": to_end}
    first, last = (_end_of_row(name, end, array.dtype) for name, end in ends.items())
    return concat([*first, found, *last])


def _end_of_row(name: str, given: Any, dtype: np.dtype[Any]) -> list[Any]:
    if given is None:
        return []
    array = ravel(array_of(np.asarray(given) if isinstance(given, NUMBERS) else given))
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TypeError(f"{name} of {array.dtype} is not cast to the {dtype} of the differences")
    return [array if array.dtype == dtype else fn.cast(array, dtype)]


# -- products ---------------------------------------------------------------------------------


def dot(a: Any, b: Any) -> Any:
    """The sum of products over the last dimension of ``a`` and the last but one of ``b``."""
    x, y = array_of(a), array_of(b)
    if not x.ndim or not y.ndim:
        return fn.multiply(x, y)
    return tensordot(x, y, axes=([x.ndim - 1], [max(y.ndim - 2, 0)]))


def inner(a: Any, b: Any) -> Any:
    """The sum of products over the last dimensions."""
    x, y = array_of(a), array_of(b)
    if not x.ndim or not y.ndim:
        return fn.multiply(x, y)
    return tensordot(x, y, axes=([x.ndim - 1], [y.ndim - 1]))


def vdot(a: Any, b: Any) -> Any:
    """The sum of products of all elements, those of ``a`` conjugated."""
    return tensordot(fn.conj(ravel(a)), ravel(b), axes=1)


def outer_product(a: Any, b: Any, out: Any = None) -> Any:
    """The products of all pairs of elements, of all in a row."""
    return outer(ravel(a), ravel(b))


def matvec(x1: Any, x2: Any) -> Any:
    """The product of matrices and vectors. Raises ``DimensionMismatch`` for no matrix."""
    a, b = _matrix(array_of(x1)), array_of(x2)
    return matmul(a, b) if b.ndim == 1 else getitem(matmul(a, expand_dims(b, axis=-1)), (..., 0))


def _matrix(array: Any) -> Any:
    if array.ndim < 2:
        raise DimensionMismatch(
            f"a matrix has two dimensions, and this array {array.ndim}",
            hint="np.vecdot multiplies vectors",
        )
    return array


def vecmat(x1: Any, x2: Any) -> Any:
    """The product of vectors, conjugated, and matrices. Raises ``DimensionMismatch`` for no
    matrix."""
    a, b = fn.conj(x1), _matrix(array_of(x2))
    return (
        matmul(a, b)
        if a.ndim == 1
        else getitem(matmul(expand_dims(a, axis=-2), b), (..., 0, slice(None)))
    )


def outer_by(function: Callable[..., Any], x: Any, y: Any) -> Any:
    """A function of two numbers on all pairs of elements."""
    a, b = array_of(x), array_of(y)
    if not a.ndim or not b.ndim:
        return function(a, b)
    if function is fn.multiply and not (is_dense(a) and is_dense(b)):
        return tensordot(a, b, axes=0)
    return function(reshape(a, a.shape + (1,) * b.ndim), b)


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The cross products of vectors of 3 elements along the axes ``axisa`` and ``axisb``, along
    ``axisc``; ``axis`` names all three. Raises ``DimensionMismatch``, a ``ValueError``, for vectors
    of other lengths."""
    if axis is not None:
        axisa, axisb, axisc = axis, axis, axis
    x, y = moveaxis(array_of(a), axisa, -1), moveaxis(array_of(b), axisb, -1)
    return moveaxis(linalg.cross(x, y), -1, axisc)


# -- sets -------------------------------------------------------------------------------------


def of_sets(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the distinct elements of two arrays, as a NumPy array."""

    def found(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
        values = (np.unique(searching.unique_values(x).to_numpy()) for x in (ar1, ar2))
        return function(*values)

    return found


def _is_value(value: float) -> Callable[..., Any]:
    def found(x: Any, out: None = None) -> Any:
        if array_of(x).dtype.kind == "c":
            raise TypeError(
                "complex numbers have no sign: np.isinf(A) finds those with an infinity"
            )
        return ELEMENTWISE["equal"](x, value)

    return found


def multi_dot(arrays: Sequence[Any], out: None = None) -> Any:
    """The product of matrices, of which the first and the last may be vectors. Raises
    ``DimensionMismatch`` for other dimensions, and for fewer than two arrays."""
    given = [array_of(x) for x in arrays]
    ends = {x.ndim for x in (*given[:1], *given[-1:])}
    if len(given) < 2 or ends - {1, 2} or any(x.ndim != 2 for x in given[1:-1]):
        told = ", ".join(str(x.shape) for x in given)
        raise DimensionMismatch(
            f"multi_dot is of matrices, the first and the last maybe vectors, not of {told}"
        )
    return reduce(matmul, given)


def angle(ufunc: np.ufunc, factor: float) -> Callable[..., Any]:
    """Angles in another unit, of the dtype that the ufunc has: half floats of bools."""

    def found(x: Any) -> Any:
        array = array_of(x) if not is_lazy(x) else x
        dtype = ufunc.resolve_dtypes((array.dtype, None))[-1]
        return fn.multiply(array if array.dtype == dtype else fn.cast(array, dtype), factor)

    return found


def phase(z: Any, deg: bool = False) -> Any:
    """The angle of each number in the complex plane: of a real one 0 or pi. In the levels of ``z``,
    if its fill is not negative."""
    array = array_of(z) if not is_lazy(z) else z
    if array.dtype.kind == "c":
        found = ELEMENTWISE["atan2"](fn.imag(array), fn.real(array))
    else:
        found = np.arctan2(0, array)  # half floats of small integers, as NumPy's
    return fn.multiply(found, 180 / np.pi) if deg else found


UFUNCS: dict[Any, Callable[..., Any]] = {
    np.deg2rad: angle(np.deg2rad, np.pi / 180),
    np.rad2deg: angle(np.rad2deg, 180 / np.pi),
    np.radians: angle(np.radians, np.pi / 180),
    np.degrees: angle(np.degrees, 180 / np.pi),
    **({np.matvec: matvec, np.vecmat: vecmat} if hasattr(np, "matvec") else {}),
}
"""The function of this package for NumPy's ufuncs that are no functions of the standard."""

_MAX = reduction(red.max, ELEMENTWISE["maximum"], None)
_MIN = reduction(red.min, ELEMENTWISE["minimum"], None)

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: reduction(red.sum, fn.add, 0), np.prod: reduction(red.prod, fn.multiply, 1),
    np.max: _MAX, np.min: _MIN, np.amax: _MAX, np.amin: _MIN,
    np.any: reduction(red.any, ELEMENTWISE["logical_or"], 0),
    np.all: reduction(red.all, ELEMENTWISE["logical_and"], 1),
    np.mean: mean, np.average: average,
    np.cumsum: cumsum, np.cumprod: cumprod,
    np.sort: _ordered(searching.sort), np.argsort: _ordered(searching.argsort),
    np.bincount: bincount, np.ediff1d: ediff1d,
    np.angle: phase, np.dot: dot, np.inner: inner, np.vdot: vdot, np.outer: outer_product,
    np.linalg.norm: linalg.norm,
    np.linalg.multi_dot: multi_dot, np.cross: cross,
    np.intersect1d: of_sets(np.intersect1d), np.union1d: of_sets(np.union1d),
    np.setdiff1d: of_sets(np.setdiff1d), np.setxor1d: of_sets(np.setxor1d),
    np.fix: lambda x, out=None: fn.trunc(x), np.isposinf: _is_value(np.inf),
    np.isneginf: _is_value(-np.inf), np.isrealobj: lambda x: x.dtype.kind != "c",
    np.isreal: lambda x: ELEMENTWISE["equal"](fn.imag(x), 0),
    np.iscomplex: lambda x: ELEMENTWISE["not_equal"](fn.imag(x), 0),
}  # fmt: skip
"""The function of this package for each of NumPy's."""

__all__ = ["FUNCTIONS", "UFUNCS", "cumprod", "cumsum", "outer_by"]
