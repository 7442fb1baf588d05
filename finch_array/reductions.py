"""Reductions: over any axes, of any format, to a result of the dimensions that stay."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array import leaves
from finch_array.axes import axes_of
from finch_array.elementwise import scalar_tensor
from finch_array.operands import NUMBERS, operand, stored
from finch_array.requests import Request, Value, letters
from finch_array.run import as_seen, materialised, run
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Call, Cast, Expr
from finch_core.ir.operators import Operator
from finch_core.runtime.tensor import Tensor


def reduce(
    name: str, op: Operator, x: Any, axis: Any, keepdims: bool = False, *, dtype: Any = None,
    value: Value | None = None,
) -> Any:  # fmt: skip
    """``x`` reduced by ``op`` along ``axis``; ``value`` is applied to each element first."""
    array = array_operand(x)
    axes = axes_of(axis, array.ndim)
    wanted = np.dtype(dtype) if dtype is not None else None

    def request() -> Request:
        names = letters(array.ndim)
        kept = tuple(n for k, n in enumerate(names) if k not in axes)
        return Request(name, value or (lambda x: x), (names,), kept, op, wanted)

    if array.ndim == 0:
        return value_alone(name, array, value, wanted)
    found = run((name, op, array.ndim, axes, wanted), request, [array])
    return expanded(found, axes) if keepdims else found


def array_operand(x: Any) -> Any:
    """``x`` as an array; a number as one without dimensions."""
    found = operand(x)
    return scalar_tensor(found) if isinstance(found, NUMBERS) else found


def value_alone(name: str, array: Any, value: Value | None, dtype: Any) -> Any:
    """The reduction of an array without dimensions: its one value."""
    found = array if value is None else fn.Direct(name, value)(array)
    found = array_operand(found)
    return fn.cast(found, dtype) if dtype is not None and found.dtype != dtype else fn.copied(found)


def expanded(array: Any, axes: tuple[int, ...]) -> Any:
    """``array`` with dimensions of 1 at these axes of the result."""
    from finch_array.manipulation import expand_dims

    return expand_dims(array, axis=axes) if axes else array


def sum_dtype(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of sums and products: of small integers the widest."""
    if kind.kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if kind.kind == "u" else kind


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum along ``axis`` (an integer, several, or None: all), of ``dtype``, by default that of
    ``x``; of small integers and bools in 64 bits. Raises ``OutOfBounds`` for an axis that ``x``
    lacks."""
    return _folded("sum", prim.add, x, axis, keepdims, dtype)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product along ``axis``; axes and dtypes are those of ``sum``. Raises ``OutOfBounds`` for
    an axis that ``x`` lacks."""
    return _folded("prod", prim.mul, x, axis, keepdims, dtype)


def _folded(name: str, op: Operator, x: Any, axis: Any, keepdims: bool, dtype: Any) -> Any:
    array = array_operand(x)
    if array.dtype.kind == "M":
        raise TypeError(f"{name} is not defined on dates")
    wanted = sum_dtype(array.dtype) if dtype is None else np.dtype(dtype)
    if array.dtype == wanted:
        return reduce(name, op, array, axis, keepdims)
    return reduce(name, op, array, axis, keepdims, dtype=wanted, value=lambda e: Cast(e, wanted))


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The least element along ``axis``; NaN if there is one. Raises ``OutOfBounds`` for an axis
    that ``x`` lacks, ``ValueError`` where there are no elements, and ``TypeError`` for complex
    numbers."""
    return _extreme("min", prim.minimum, x, axis, keepdims)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The greatest element along ``axis``; NaN if there is one. Raises ``OutOfBounds`` for an axis
    that ``x`` lacks, ``ValueError`` where there are no elements, and ``TypeError`` for complex
    numbers."""
    return _extreme("max", prim.maximum, x, axis, keepdims)


def _extreme(name: str, op: Operator, x: Any, axis: Any, keepdims: bool) -> Any:
    array = array_operand(x)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} is not defined on complex numbers")
    axes = axes_of(axis, array.ndim)
    if math.prod(array.shape[a] for a in axes) == 0 and axes:
        raise ValueError(f"{name} of no elements")
    if array.dtype.kind == "b":
        op = prim.and_ if name == "min" else prim.or_
    return reduce(name, op, array, axis, keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether any element along ``axis`` is true (not 0): bools. Raises ``OutOfBounds`` for an axis
    that ``x`` lacks."""
    return reduce("any", prim.or_, x, axis, keepdims, dtype=bool, value=_truth)


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements along ``axis`` are true (not 0): bools. Raises ``OutOfBounds`` for an
    axis that ``x`` lacks."""
    return reduce("all", prim.and_, x, axis, keepdims, dtype=bool, value=_truth)


def _truth(expr: Expr) -> Expr:
    return Cast(expr, np.dtype(bool))


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The number of elements along ``axis`` that are not zero, as int64. Raises ``OutOfBounds`` for
    an axis that ``x`` lacks."""
    wide = np.dtype(np.int64)
    return reduce(
        "count_nonzero",
        prim.add,
        x,
        axis,
        keepdims,
        dtype=wide,
        value=lambda e: Cast(_truth(e), wide),
    )


# -- means ------------------------------------------------------------------------------------


def _float_of(x: Any) -> Any:
    array = array_operand(x)
    return fn.cast(array, np.float64) if array.dtype.kind in "biu" else array


def _count(array: Any, axis: Any) -> int:
    return math.prod(array.shape[a] for a in axes_of(axis, array.ndim))


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean along ``axis``: of integers a float64, else of the dtype of ``x``; of half floats
    computed in single, as a sum may overflow. Raises ``OutOfBounds`` for an axis that ``x``
    lacks."""
    array = _float_of(x)
    wide = np.float32 if array.dtype == np.float16 else None
    found = divided(sum(array, axis=axis, dtype=wide, keepdims=keepdims), _count(array, axis))
    return found if wide is None else fn.cast(found, array.dtype)


def divided(array: Any, count: float) -> Any:
    """``array / count``, NaN or infinite for a count of 0."""
    divisor = np.asarray(count, float if array.dtype.kind == "m" else array.dtype)[()]
    return fn.FUNCTIONS["divide"](array, divisor)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance along ``axis``, divided by the number of elements less ``correction``: a
    float64 of integers, real also of complex numbers. Raises ``OutOfBounds`` for an axis that
    ``x`` lacks."""
    array = _float_of(x)
    if array.ndim == 0:
        return divided(fn.multiply(_squared(array), 0), 1 - correction)
    count, axes = _count(array, axis), axes_of(axis, array.ndim)
    middle = mean(array, axis=axis, keepdims=True)
    total = _stored_squares(array, middle, axes)
    there = presence(array)
    absent = fn.FUNCTIONS["subtract"](float(count), sum(there, axis=axes, keepdims=True))
    apart = _squared(fn.FUNCTIONS["subtract"](np.asarray(array.fill_value)[()], middle))
    apart = fn.multiply(fn.cast(absent, apart.dtype), apart)
    total = fn.where(fn.FUNCTIONS["greater"](absent, 0), fn.add(total, apart), total)
    found = divided(total, (count - correction) if count > correction else 0.0)
    from finch_array.manipulation import squeeze

    return found if keepdims else squeeze(found, axes)


def _squared(x: Any) -> Any:
    if x.dtype.kind != "c":
        return fn.multiply(x, x)
    return fn.add(fn.multiply(fn.real(x), fn.real(x)), fn.multiply(fn.imag(x), fn.imag(x)))


def _stored_squares(array: Any, middle: Any, axes: tuple[int, ...]) -> Any:
    """The squares of the distances of stored elements to ``middle``, summed."""
    names = letters(array.ndim)
    kept = tuple(n for k, n in enumerate(names) if k not in axes)
    there = presence(array)
    real = np.zeros((), array.dtype).real.dtype

    def square(x: Expr, m: Expr, t: Expr) -> Expr:
        away = Call(prim.sub, (x, m))
        if array.dtype.kind == "c":
            re, im = Call(prim.real, (away,)), Call(prim.imag, (away,))
            parts = Call(prim.add, (Call(prim.mul, (re, re)), Call(prim.mul, (im, im))))
            return Call(prim.mul, (Cast(t, real), parts))
        return Call(prim.mul, (Cast(t, array.dtype), Call(prim.mul, (away, away))))

    key = ("var", array.ndim, axes, array.dtype)
    found = run(
        key,
        lambda: Request("var", square, (names, names, names), kept, prim.add),
        [array, middle, there],
    )
    return expanded(found, axes)


def presence(array: Any) -> Any:
    """1.0 where ``array`` stores a value, over the same levels; the fill is 0."""
    found = stored(array)
    source = found.source if isinstance(found.source, Tensor) else materialised(found.source)
    if source.format.levels()[-1].layout != "values":
        return fn.cast(array, np.float64)
    one = np.dtype(np.float64)
    format = leaves.with_leaf(source.format, one.type(0), one)
    last = len(source.layout.levels) - 1
    arrays = [
        np.ones(a.size) if part.level == last else a.copy()
        for part, a in zip(source.layout.buffers, source.arrays, strict=True)
    ]
    return as_seen(Tensor.of_parts(format, source.record, arrays), found.axes)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation along ``axis``: the square root of ``var``, whose dtypes and errors it
    has."""
    return fn.FUNCTIONS["sqrt"](var(x, axis=axis, correction=correction, keepdims=keepdims))
