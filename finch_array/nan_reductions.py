"""NumPy's reductions of the elements that are not NaN, and its variances, on tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from finch_array import cumulative, searching
from finch_array import functions as fn
from finch_array import reductions as red
from finch_array.axes import axes_of
from finch_array.indexing import getitem
from finch_array.leaves import differs, stored_values
from finch_array.manipulation import check_size, squeeze, unraveled
from finch_array.numpy_arguments import parameters_of
from finch_array.numpy_numbers import FUNCTIONS as WITH_NAN
from finch_array.numpy_numbers import count_along, is_given
from finch_array.numpy_shapes import ravel
from finch_array.operands import array_of, is_dense, stored
from finch_array.run import coordinates, is_short, sorted_tensor
from finch_core.runtime.tensor import Tensor


def _without_nan(own: Callable[..., Any], instead: float) -> Callable[..., Any]:
    """``own``, a reduction of NumPy's, of ``instead`` in the place of NaN."""

    def reduced(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
                initial: Any = np._NoValue, where: Any = True) -> Any:  # fmt: skip
        return own(_replaced(array_of(a), instead), axis, dtype, None, keepdims, initial, where)

    return reduced


def _replaced(array: Any, value: Any) -> Any:
    """``array`` with a value in the place of NaN."""
    return _without(array, value) if _may_have_nan(array) else array


def _without(array: Any, value: Any) -> Any:
    return fn.where(fn.isnan(array), array.dtype.type(value), array)


def _may_have_nan(array: Any) -> bool:
    """Whether an element may be NaN: the fill is, or a stored value, or an array tells neither."""
    if array.dtype.kind not in "fc":
        return False
    source = stored(array).source
    if source.__class__ is not Tensor or array.fill_value != array.fill_value:
        return True
    values = stored_values(source)
    return values is None or bool(np.isnan(values).any())


def _counted(array: Any, axis: Any) -> Any:
    """The number of elements along ``axis`` that are not NaN."""
    return red.sum(fn.FUNCTIONS["logical_not"](fn.isnan(array)), axis=axis, keepdims=True)


def _floats(name: str, a: Any, dtype: Any, where: Any) -> Any:
    """``a`` as floats, NaN where it does not count. Raises ``TypeError`` for a ``dtype`` that has
    no NaN."""
    array = array_of(a)
    wanted = red.mean_dtype(array.dtype) if dtype is None else np.dtype(dtype)
    if wanted.kind not in "fc":
        raise TypeError(f"{name} is computed in a dtype of floats, not in {wanted}")
    if array.dtype.kind not in "fc" or array.dtype != np.result_type(array.dtype, wanted):
        array = fn.cast(array, np.result_type(array.dtype, wanted))
    return array if where is True else fn.where(where, array, array.dtype.type(np.nan))


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
    where: Any = True,
) -> Any:  # fmt: skip
    """The mean, in ``dtype``, of the elements along ``axis`` that count and are not NaN."""
    array = _floats("nanmean", a, dtype, where)
    wanted = red.mean_dtype(array_of(a).dtype) if dtype is None else np.dtype(dtype)
    wide = np.dtype(np.float32) if wanted == np.float16 else wanted  # as a sum may overflow
    some = _may_have_nan(array)
    plain = _without(array, 0) if some else array
    total = red.sum(plain, axis=axis, dtype=wide, keepdims=True)
    if some:
        found = red.per_count(total, _counted(array, axis))
    else:
        length = math.prod(array.shape[k] for k in axes_of(axis, array.ndim))
        found = red.divided(total, length)
    return _kept(fn.cast(found, wanted), axis, keepdims)


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
    keepdims: Any = False, *, where: Any = True, correction: Any = None,
) -> Any:  # fmt: skip
    """The variance, in ``dtype``, of the elements along ``axis`` that count and are not NaN, from
    what is stored. Raises ``ValueError`` for both ``ddof`` and ``correction``, which are one."""
    ddof = _correction(ddof, correction)
    if array_of(a).dtype.kind not in "fc" and where is True and dtype is None:
        return red.var(a, axis=axis, correction=ddof, keepdims=keepdims is True)
    found = _of_counted(
        _floats("nanvar", a, dtype, True), axis, ddof, keepdims is True, where, True
    )
    return found if dtype is None else fn.cast(found, dtype)


@parameters_of(nanvar)
def nanstd(a: Any, *args: Any, **options: Any) -> Any:
    """The standard deviation of the elements along ``axis`` that count and are not NaN."""
    return fn.FUNCTIONS["sqrt"](nanvar(a, *args, **options))


def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
    keepdims: Any = False, *, where: Any = True, correction: Any = None,
) -> Any:  # fmt: skip
    """The variance, in ``dtype``, of the elements along ``axis`` that count. Raises ``ValueError``
    for both ``ddof`` and ``correction``, which are one."""
    return _spread(red.var, a, axis, dtype, _correction(ddof, correction), keepdims is True, where)


def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
    keepdims: Any = False, *, where: Any = True, correction: Any = None,
) -> Any:  # fmt: skip
    """The square root of ``var``."""
    return _spread(red.std, a, axis, dtype, _correction(ddof, correction), keepdims is True, where)


def _correction(ddof: float, correction: Any) -> float:
    if correction is not None and ddof != 0:
        raise ValueError("ddof= and correction= are the same: give one of them")
    return ddof if correction is None else correction


def _spread(
    own: Callable[..., Any], a: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any
) -> Any:
    """``own``, the variance or its root, of the elements that count."""
    plain = a if dtype is None and where is True else _floats(own.__name__, a, dtype, True)
    if where is True:
        found = own(plain, axis=axis, correction=ddof, keepdims=keepdims)
    else:
        found = _of_counted(plain, axis, ddof, keepdims, where)
        found = fn.FUNCTIONS["sqrt"](found) if own is red.std else found
    return found if dtype is None else fn.cast(found, dtype)


def _of_counted(
    array: Any, axis: Any, ddof: float, keepdims: bool, where: Any, skips: bool = False
) -> Any:
    """The variance of floats that count; ``skips``: and are not NaN."""
    if is_dense(array) or array.dtype.kind == "c":
        of_numpy = cast(Any, np.nanvar if skips else np.var)
        options = {} if where is True else {"where": array_of(where).to_numpy()}
        found = of_numpy(array.to_numpy(), axis, ddof=ddof, keepdims=keepdims, **options)
        return array_of(np.asarray(found))
    axes = axes_of(axis, array.ndim)
    found = _of_stored(array, axes, ddof, where, skips)
    return red.expanded(found, axes) if keepdims else found


def _of_stored(array: Any, axes: tuple[int, ...], ddof: float, where: Any, skips: bool) -> Any:
    """``_of_counted`` of real floats that are not dense, sparse where many of the fibers store
    nothing."""
    shape, coords, values = coordinates(array)
    kept = tuple(n for k, n in enumerate(shape) if k not in axes)
    check_size(kept)
    group = np.zeros(len(values), np.intp)
    for k, n in enumerate(shape):
        group = group if k in axes else group * n + coords[k]
    total = math.prod(kept)
    cells = None if is_short(total, len(values)) else np.unique(group)
    if cells is not None:
        group, total = cells.searchsorted(group), len(cells)

    def summed(weights: Any) -> Any:
        return np.bincount(group, weights, total)

    counted, numbers = _counts(where, shape, coords, axes)
    places = () if cells is None else tuple(unraveled(cells, kept))
    number = numbers
    if where is not True and cells is None:
        number = np.broadcast_to(numbers.to_numpy(), kept).reshape(-1)
    elif where is not True:
        number = _at(numbers, places)
    there, fill = counted & ((values == values) | (not skips)), np.float64(array.fill_value)
    absent = number - summed(counted * 1.0)
    if skips and fill != fill:
        absent, fill = absent * 0.0, np.float64(0)
    count = summed(there * 1.0) + absent
    plain = np.where(there, values, 0.0)
    with np.errstate(all="ignore"):
        middle = (summed(plain) + np.where(absent > 0, absent * fill, 0.0)) / count
        away = np.where(there, plain - middle[group], 0.0)
        rest = np.where(absent > 0, absent * (fill - middle) ** 2, 0.0)
        squares = summed(away * away) + rest
        least = np.nan if skips else 0.0
        found = (squares / np.where(count > ddof, count - ddof, least)).astype(array.dtype)
        of_fills = array.dtype.type(fill * 0)
    if cells is None:
        return array_of(found.reshape(kept))
    if (skips and array.fill_value != array.fill_value) or (where is True and number <= ddof):
        of_fills = array.dtype.type(np.nan)
    some = differs(found, of_fills)
    made = sorted_tensor(kept, [p[some] for p in places], found[some], of_fills, in_order=True)
    if where is True:
        return made
    none = fn.FUNCTIONS["less_equal"](numbers, ddof)  # without an element, or infinite
    if not bool(red.any(none)):
        return made
    unknown = fn.FUNCTIONS["logical_and"](none, fn.FUNCTIONS["not_equal"](made, np.inf))
    return fn.where(unknown, of_fills.dtype.type(np.nan), made)


def _counts(where: Any, shape: tuple[int, ...], coords: Any, axes: tuple[int, ...]) -> Any:
    """Whether each of the elements at ``coords`` counts, and how many do along ``axes``."""
    if where is True:
        return np.ones(len(coords[0]) if coords else 1, bool), math.prod(shape[k] for k in axes)
    given = array_of(where)
    counted = _at(given, coords[len(coords) - given.ndim :]) != 0
    return np.broadcast_to(counted, len(coords[0])), count_along(given, shape, axes)


def _at(array: Any, coords: Sequence[Any]) -> Any:
    """The elements of an array that is broadcast at coordinates."""
    own = [c if n > 1 else c * 0 for c, n in zip(coords, array.shape, strict=True)]
    return getitem(array, tuple(own)).to_numpy() if own else array.to_numpy()


def _arg_extreme(reduction: Callable[..., Any], instead: float) -> Callable[..., Any]:
    """``reduction``, ``argmax`` or ``argmin``, of the elements that are not NaN. Raises
    ``ValueError``, as NumPy, where all are."""

    def found(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        array = array_of(a)
        if _may_have_nan(array):
            if array.size and not bool(red.all(_counted(array, axis))):
                raise ValueError("All-NaN slice encountered: there is no index of another element")
            array = _without(array, instead)
        return reduction(array, axis=axis, keepdims=keepdims is True)

    return found


def _cumulated(reduction: Callable[..., Any], instead: float) -> Callable[..., Any]:
    def found(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        kept = _replaced(array_of(a), instead)
        return reduction(kept if axis is not None else ravel(kept), axis=axis or 0, dtype=dtype)

    return found


def _kept(array: Any, axis: Any, keepdims: Any) -> Any:
    return array if keepdims is True else squeeze(array, axis=axes_of(axis, array.ndim))


def _extreme(own: Callable[..., Any], instead: float) -> Callable[..., Any]:
    """``own``, the greatest or least of elements, of those that are not NaN."""

    def reduced(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False,
                initial: Any = np._NoValue, where: Any = True) -> Any:  # fmt: skip
        array = array_of(a)
        options = {"keepdims": True, "initial": initial, "where": where}
        some = _may_have_nan(array)
        found = own(_without(array, instead) if some else array, axis, **options)
        if some and array.dtype.kind == "f" and not is_given(initial):
            # NaN where there is nothing else
            there = _counted(array, axis)
            found = fn.where(fn.FUNCTIONS["equal"](there, 0), array.dtype.type(np.nan), found)
        return _kept(found, axis, keepdims)

    return reduced


def extreme_by(ufunc: np.ufunc, method: str) -> Callable[..., Any] | None:
    """``reduce`` and ``accumulate`` of ``np.fmax`` and ``np.fmin``; None for others."""
    plain, instead = _PLAIN.get(ufunc, (None, 0.0))
    if plain is None or method not in ("reduce", "accumulate"):
        return None

    def reduced(x: Any, axis: Any = 0, dtype: Any = None, **options: Any) -> Any:
        array = _combined(ufunc, x, dtype)
        own = FUNCTIONS[np.nanmax if plain is np.maximum else np.nanmin]
        return own(array, axis, **options)

    def accumulated(x: Any, axis: Any = 0, dtype: Any = None) -> Any:
        array = _combined(ufunc, x, dtype)
        if not _may_have_nan(array):
            return cumulative.accumulated(plain, array, axis)
        none = cumulative.accumulated(np.logical_and, fn.isnan(array), axis)
        found = cumulative.accumulated(plain, _without(array, instead), axis)
        return fn.where(none, array.dtype.type(np.nan), found)

    return reduced if method == "reduce" else accumulated


_PLAIN: dict[np.ufunc, tuple[np.ufunc, float]] = {
    np.fmax: (np.maximum, -np.inf), np.fmin: (np.minimum, np.inf),
}  # fmt: skip
"""The ufunc that does not pass NaN over, and what changes nothing in it."""


def _combined(ufunc: np.ufunc, x: Any, dtype: Any) -> Any:
    """``x`` in the dtype in which the ufunc combines its elements."""
    array = array_of(x)
    wanted = red.folded_dtype(ufunc, array.dtype, dtype)
    return array if array.dtype == wanted else fn.cast(array, wanted)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.nansum: _without_nan(WITH_NAN[np.sum], 0), np.nanprod: _without_nan(WITH_NAN[np.prod], 1),
    np.nanmax: _extreme(WITH_NAN[np.max], -np.inf), np.nanmin: _extreme(WITH_NAN[np.min], np.inf),
    np.nanmean: nanmean, np.nanvar: nanvar, np.nanstd: nanstd, np.var: var, np.std: std,
    np.nanargmax: _arg_extreme(searching.argmax, -np.inf),
    np.nanargmin: _arg_extreme(searching.argmin, np.inf),
    np.nancumsum: _cumulated(cumulative.cumulative_sum, 0),
    np.nancumprod: _cumulated(cumulative.cumulative_prod, 1),
}  # fmt: skip
"""The function of this package for each of NumPy's."""

__all__ = ["FUNCTIONS", "extreme_by"]
