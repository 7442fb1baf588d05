"""Reductions: over any axes, of any format, to a result of the dimensions that stay."""

from __future__ import annotations

import builtins
import math
from functools import cache
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array.axes import axes_of
from finch_array.joining import has_structure
from finch_array.leaves import relabelled, with_leaf
from finch_array.operands import (
    NUMBERS,
    array_of,
    has_memory,
    is_dense,
    operand,
    settled,
)
from finch_array.requests import Request, Value, letters
from finch_array.run import materialised, run
from finch_array.scalars import scalar_tensor
from finch_array.spreads import spread
from finch_array.stored_reductions import UFUNCS, reduced
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Call, Cast, Expr, Literal
from finch_core.ir.operators import Operator, cast_value, operator_for
from finch_core.ir.program import Stored
from finch_core.runtime.lists import memory_of
from finch_core.runtime.tensor import Tensor


def reduce(
    name: str, op: Operator, x: Any, axis: Any, keepdims: bool = False, *, dtype: Any = None,
    value: Value | None = None, casts: bool = False,
) -> Any:  # fmt: skip
    """``x`` reduced by ``op`` along ``axis``; ``value`` is applied to each element first; it
    does nothing but cast it where ``casts``."""
    array = array_operand(x)
    axes = axes_of(axis, array.ndim)
    wanted = np.dtype(dtype) if dtype is not None else None

    def request() -> Request:
        names = letters(array.ndim)
        kept = tuple(n for k, n in enumerate(names) if k not in axes)
        return Request(name, value or (lambda x: x), (names,), kept, op, wanted)

    if array.ndim == 0:
        return value_alone(name, array, value, wanted)
    plain = op in UFUNCS and (value is None or casts)
    found = reduced(name, op, array, axes, value, wanted) if plain else None
    if found is None:
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


def wide_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which sums of a dtype are accumulated: single precision of half floats, whose
    sums end at 2048 ones. The result is rounded once."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def sum(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum along ``axis`` (an integer, several, or None: all), of ``dtype``, by default that of
    ``x``; of small integers and bools in 64 bits. Half floats are summed in single precision, and
    rounded once. Raises ``OutOfBounds`` for an axis that ``x`` lacks."""
    return _folded("sum", prim.add, x, axis, keepdims, dtype)


def prod(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product along ``axis``; axes and dtypes are those of ``sum``. Raises ``OutOfBounds`` for
    an axis that ``x`` lacks."""
    return _folded("prod", prim.mul, x, axis, keepdims, dtype)


def _folded(name: str, op: Operator, x: Any, axis: Any, keepdims: bool, dtype: Any) -> Any:
    array = array_operand(x)
    if array.dtype.kind == "M":
        raise TypeError(f"{name} is not defined on dates")
    wanted = sum_dtype(array.dtype) if dtype is None else np.dtype(dtype)
    if op is prim.add and (wide := wide_dtype(wanted)) != wanted and array.ndim:
        return fn.cast(_folded(name, op, array, axis, keepdims, wide), wanted)
    if array.dtype == wanted:
        return reduce(name, op, array, axis, keepdims)
    return reduce(
        name,
        op,
        array,
        axis,
        keepdims,
        dtype=wanted,
        value=lambda e: Cast(e, wanted),
        casts=True,
    )


def min(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The least element along ``axis``; NaN if there is one. Raises ``OutOfBounds`` for an axis
    that ``x`` lacks, ``ValueError`` where there are no elements, and ``TypeError`` for complex
    numbers."""
    return _extreme("min", prim.minimum, x, axis, keepdims)


def max(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
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


def any(x: Any, /, axis: Any = None, *, keepdims: bool = False, out: None = None) -> Any:
    """Whether any element along ``axis`` is true (not 0): bools. ``out`` is None, which xarray
    passes. Raises ``OutOfBounds`` for an axis that ``x`` lacks, ``TypeError`` for another
    ``out``."""
    _without_out("any", out)
    return _truths("any", prim.or_, np.any, x, axis, keepdims)


def all(x: Any, /, axis: Any = None, *, keepdims: bool = False, out: None = None) -> Any:
    """Whether all elements along ``axis`` are true (not 0): bools. ``out`` is None, which xarray
    passes. Raises ``OutOfBounds`` for an axis that ``x`` lacks, ``TypeError`` for another
    ``out``."""
    _without_out("all", out)
    return _truths("all", prim.and_, np.all, x, axis, keepdims)


def _without_out(name: str, out: Any) -> None:
    if out is not None:
        raise TypeError(f"{name}() gives a new array: np.{name}(A, out=out) assigns it to one")


def _truths(
    name: str, op: Operator, of_dense: Any, x: Any, axis: Any, keepdims: bool
) -> Any:  # fmt: skip
    """Whether elements are true: of dense arrays by NumPy, which looks at many bytes at once."""
    array = array_operand(x)
    if array.__class__ is not Tensor or not array.ndim or not is_dense(array):
        return reduce(name, op, array, axis, keepdims, dtype=bool, value=_truth, casts=True)
    found = of_dense(array.to_numpy(), axis=axes_of(axis, array.ndim), keepdims=keepdims)
    return array_of(found) if np.ndim(found) else scalar_tensor(found)


def _truth(expr: Expr) -> Expr:
    return Cast(expr, np.dtype(bool))


def count_nonzero(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The number of elements along ``axis`` that are not zero, as int64. Raises ``OutOfBounds`` for
    an axis that ``x`` lacks."""
    wide = np.dtype(np.int64)
    array = array_operand(x)
    if array.ndim and has_memory(array) and not is_dense(array) and array.fill_value:
        true = fn.FUNCTIONS["not_equal"](array, array.dtype.type(0))  # of the fill True
        return sum(true, axis=axis, keepdims=keepdims)
    return reduce(
        "count_nonzero",
        prim.add,
        x,
        axis,
        keepdims,
        dtype=wide,
        value=lambda e: Cast(_truth(e), wide),
    )


def folding(ufunc: np.ufunc) -> Operator | None:
    """The operator of a ufunc that reduces and accumulates in any grouping, from its identity on;
    None if it does not."""
    op = operator_for(np.bitwise_xor if ufunc is np.logical_xor else ufunc)
    return op if op is not None and op.associative and op.identity is not None else None


def folded_dtype(ufunc: np.ufunc, kind: np.dtype[Any], dtype: Any = None) -> np.dtype[Any]:
    """The dtype in which a ufunc combines elements of a dtype: ``dtype``, where it is given. Raises
    ``TypeError`` where it does not combine them."""
    wanted: np.dtype[Any] = kind if dtype is None else np.dtype(dtype)
    found = ufunc.resolve_dtypes((wanted, wanted, None))[-1]
    if dtype is not None and found != wanted:
        raise TypeError(f"np.{ufunc.__name__} gives {found}, not {wanted}: cast its result")
    return found


def folded(
    ufunc: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    """``ufunc.reduce``: the elements along ``axis`` for which ``where`` holds, and ``initial``,
    combined in ``dtype``. Raises ``OutOfBounds`` for an axis that ``x`` lacks, and ``TypeError``
    for a dtype that the ufunc does not combine."""
    array, op = array_operand(x), folding(ufunc)
    assert op is not None
    assert op.identity is not None
    wanted = folded_dtype(ufunc, array.dtype, dtype)
    array = array if array.dtype == wanted else fn.cast(array, wanted)
    if where is not True:
        array = fn.where(where, array, op.identity(wanted))
    found = reduce(f"{ufunc.__name__}.reduce", op, array, axis, keepdims)
    if initial is None:
        return found
    return fn.FUNCTIONS[ufunc.__name__](found, cast_value(initial, wanted))


def sum_of_squares(array: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum of the squares of real floats along ``axis``; of half floats in single precision, as
    it may overflow."""
    array = fn.cast(array, np.float32) if array.dtype == np.float16 else array
    return reduce("sum_of_squares", prim.add, array, axis, keepdims, value=_square)


def _square(expr: Expr) -> Expr:
    return Call(prim.mul, (expr, expr))


def root(array: Any) -> Any:
    """The square roots of an array of floats that was made for this: in its memory where it is
    dense, and its fill does not change."""
    if memory_of(array) is not None and array.__class__ is Tensor and not array.fill_value:
        with np.errstate(all="ignore"):
            np.sqrt(array.arrays[0], out=array.arrays[0])
        return array
    return array_operand(fn.FUNCTIONS["sqrt"](array))


# -- means ------------------------------------------------------------------------------------


def mean_dtype(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of means: of integers and bools float64."""
    return np.dtype(np.float64) if kind.kind in "biu" else kind


def _count(array: Any, axis: Any) -> int:
    return math.prod(array.shape[a] for a in axes_of(axis, array.ndim))


def mean(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The mean along ``axis``: of integers a float64, else of the dtype of ``x``; of half floats
    computed in single, as a sum may overflow. Raises ``OutOfBounds`` for an axis that ``x``
    lacks."""
    array = array_operand(x)
    dtype, axes = mean_dtype(array.dtype), axes_of(axis, array.ndim)
    wide = wide_dtype(dtype)
    found = divided(sum(array, axis=axes, dtype=wide), _count(array, axes))
    found = found if wide == dtype else fn.cast(found, dtype)
    return expanded(found, axes) if keepdims else found


def divided(array: Any, count: float) -> Any:
    """``array / count``, NaN or infinite for a count of 0, of an array that was made for this: in
    its memory where it is dense."""
    divisor = np.asarray(count, float if array.dtype.kind == "m" else array.dtype)[()]
    zero = array.dtype.kind in "fc" and count and not array.fill_value  # what the fill remains
    if zero and array.__class__ is Tensor and memory_of(array) is not None:
        with np.errstate(all="ignore"):
            np.divide(array.arrays[0], divisor, out=array.arrays[0])
        return array
    return fn.FUNCTIONS["divide"](array, divisor)


def per_count(total: Any, counts: Any) -> Any:
    """``total / counts``, NaN for a count of 0, also where ``total`` stores nothing."""
    found = fn.FUNCTIONS["divide"](total, fn.cast(counts, total.dtype))
    none = fn.FUNCTIONS["equal"](counts, 0)
    return fn.where(none, found.dtype.type(np.nan), found) if bool(any(none)) else found


def var(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance along ``axis``, divided by the number of elements less ``correction``: a
    float64 of integers, real also of complex numbers; of half floats computed in single, as the
    number of elements may overflow. Raises ``OutOfBounds`` for an axis that ``x`` lacks."""
    return _spread(x, axis, correction, keepdims, np.positive, lambda found: found)


def std(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation along ``axis``: the square root of ``var``, whose dtypes and errors it
    has."""
    return _spread(x, axis, correction, keepdims, np.sqrt, fn.FUNCTIONS["sqrt"])


def _spread(
    x: Any, axis: Any, correction: float, keepdims: bool, of_dense: np.ufunc, of: Any
) -> Any:
    """A function of the variance, which is ``of_dense`` of NumPy's arrays, ``of`` of others."""
    array = array_operand(x)
    half = array.dtype == np.float16
    array = fn.cast(array, np.float32) if half else array
    axes = axes_of(axis, array.ndim)
    count = _count(array, axes)
    divisor = (count - correction) if count > correction else 0.0
    dtype = mean_dtype(array.dtype)
    op = None if of_dense is np.positive else operator_for(of_dense)
    found = spread(array, axes, count, divisor, dtype, op) if count else None
    if found is None:
        found = _spread_of_parts(array, axes, count, divisor, of_dense, of)
    found = fn.cast(found, np.float16) if half else found
    return expanded(found, axes) if keepdims else found


def _spread_of_parts(
    array: Any, axes: tuple[int, ...], count: int, divisor: float, of_dense: np.ufunc, of: Any
) -> Any:
    """``_spread`` from the mean, the squares of what is stored, and how much is stored."""
    if array.ndim == 0:
        wide = fn.cast(array, np.float64) if array.dtype.kind in "biu" else array
        return of(divided(fn.multiply(_squared(wide), 0), divisor))
    middle = mean(array, axis=axes)
    total = _stored_squares(array, middle, axes)
    stored = _stored_counts(array, axes)
    parts = [total, stored, middle]
    tensors = builtins.all(part.__class__ is Tensor for part in parts)
    if tensors and builtins.all(memory_of(part) is not None for part in parts):
        dense = [part.arrays[0] for part in parts]
        _combine(dense, array.fill_value, float(count), divisor, of_dense)
        return total
    values = _values_in_turn(parts) if tensors else None
    if values is None:
        return of(_of_sparse(array, middle, total, count, stored, divisor))
    fills = [np.array([part.fill_value]) for part in parts]
    for own in (values, fills):
        _combine(own, array.fill_value, float(count), divisor, of_dense)
    return relabelled(total, fills[0][0])


def _values_in_turn(parts: list[Any]) -> list[Any] | None:
    """The stored values of tensors that store the same elements, one by one; None for others."""
    first = parts[0]
    number = first.layout.values
    like = [with_leaf(part.format, first.fill_value, first.dtype) for part in parts]
    if number is None or first.layout.scalars or has_structure(first) or set(like) != {like[0]}:
        return None
    used = [part.arrays_in_use() for part in parts]
    for k, arrays in enumerate(zip(*used, strict=True)):
        if k != number and not builtins.all(np.array_equal(arrays[0], x) for x in arrays[1:]):
            return None
    return [arrays[number] for arrays in used]


def _of_sparse(array: Any, middle: Any, total: Any, count: int, stored: Any, divisor: float) -> Any:
    """The variance from the squares of stored elements, and how many are stored."""
    fill, divisor = middle.dtype.type(array.fill_value), total.dtype.type(divisor)
    return _variance(middle.dtype)(total, stored, middle, float(count), fill, divisor)


@cache
def _variance(dtype: np.dtype[Any]) -> fn.Direct:
    """``_combined`` for each element, of means of this dtype."""
    none = np.float64(0)

    def value(
        total: Expr, stored: Expr, middle: Expr, count: Expr, fill: Expr, divisor: Expr
    ) -> Expr:
        absent = Call(prim.sub, (count, stored))
        square = _square_of(Call(prim.sub, (fill, middle)), dtype)
        apart = Call(prim.mul, (Cast(absent, _real(dtype)), square))
        some = Call(prim.gt, (absent, Literal(none, none.dtype)))
        whole = Call(prim.ifelse, (some, Call(prim.add, (total, apart)), total))
        return Call(prim.truediv, (whole, divisor))

    return fn.Direct("variance", value)


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.zeros((), dtype).real.dtype


def _square_of(away: Expr, dtype: np.dtype[Any]) -> Expr:
    """The square of a number, or of the absolute value of a complex number."""
    if dtype.kind != "c":
        return Call(prim.mul, (away, away))
    re, im = Call(prim.real, (away,)), Call(prim.imag, (away,))
    return Call(prim.add, (Call(prim.mul, (re, re)), Call(prim.mul, (im, im))))


def _combine(values: list[Any], fill: Any, count: float, divisor: float, of: np.ufunc) -> None:
    """``of`` the variances, in the memory of the first of some parts of them, element by element:
    the squares of stored elements, how many are stored, and means; all others are as far from the
    mean as the fill is. By NumPy: each is a number for a whole row."""
    squares, stored, middle = values
    absent = count - stored
    with np.errstate(all="ignore"):
        away = middle.dtype.type(fill) - middle
        apart = (away * away.conj()).real if away.dtype.kind == "c" else away * away
        np.add(squares, apart * absent, out=squares, where=absent > 0, casting="same_kind")
        of(np.divide(squares, divisor, out=squares), out=squares)


def _squared(x: Any) -> Any:
    if x.dtype.kind != "c":
        return fn.multiply(x, x)
    return fn.add(fn.multiply(fn.real(x), fn.real(x)), fn.multiply(fn.imag(x), fn.imag(x)))


def _stored_squares(array: Any, middle: Any, axes: tuple[int, ...]) -> Any:
    """The squares of the distances of stored elements to ``middle``, summed."""
    dtype = middle.dtype

    def square(x: Expr, m: Expr) -> Expr:
        x = Cast(x, dtype) if array.dtype != dtype else x
        return _square_of(Call(prim.sub, (x, m)), dtype)

    return _over_stored("var", square, _real(dtype), [array, operand(middle)], axes)


def _stored_counts(array: Any, axes: tuple[int, ...]) -> Any:
    """How many elements are stored, as floats."""
    one = np.float64(1)
    return _over_stored("stored", lambda x: Literal(one, one.dtype), one.dtype, [array], axes)


def _over_stored(
    name: str, value: Value, dtype: np.dtype[Any], arrays: list[Any], axes: tuple[int, ...]
) -> Any:
    """The sum over ``axes`` of ``value`` of the elements that the first array stores, and of what
    the others have there, which lack these axes: a vector is looked up, not walked in each row."""
    array = settled(arrays[0])  # an expression stores nothing
    array = array if has_memory(array) else materialised(array)
    names = letters(array.ndim)
    kept = tuple(n for k, n in enumerate(names) if k not in axes)
    none = Literal(dtype.type(0), dtype, structural=True)  # what is not stored adds nothing

    def where_stored(*exprs: Expr) -> Expr:
        return Call(prim.ifelse, (Stored(exprs[0]), value(*exprs), none))

    others = enumerate(arrays[1:], 1) if len(kept) == 1 else ()  # longer ones have a row for each
    marked = tuple([k for k, x in others if not is_dense(x)])
    key = (name, array.ndim, axes, array.dtype, marked)
    inputs = (names, *[kept] * (len(arrays) - 1))
    return run(
        key, lambda: Request(name, where_stored, inputs, kept, prim.add, marked=marked),
        [array, *arrays[1:]],
    )  # fmt: skip
