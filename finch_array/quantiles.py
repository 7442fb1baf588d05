"""Quantiles and medians along any axes, as NumPy's functions; also of what is not NaN."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array import reductions as red
from finch_array.axes import axes_of
from finch_array.indexing import getitem, take_along_axis
from finch_array.manipulation import moveaxis, reshape
from finch_array.operands import array_of
from finch_array.searching import sort

Between = Callable[[Any, Any, Any], Any]
"""The value between two elements, by the part of the way from the first."""


def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: Any = False,
) -> Any:  # fmt: skip
    """The value below which the part ``q``, a number or several, of the sorted elements along
    ``axis`` is, between two elements in proportion; NaN where one of them is."""
    array, parts = array_of(a), _parts(a, q, method)
    fibers, shape = _fibers(array, axis, keepdims is True)
    found = _between(sort(fibers, axis=-1), parts.reshape(-1) * (fibers.shape[-1] - 1))
    return array_of(found.astype(_kind(array)).reshape((*parts.shape, *shape)))


def nanquantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: Any = False,
) -> Any:  # fmt: skip
    """``quantile`` of the elements that are not NaN; NaN, with a warning, where all are."""
    parts = _parts(a, q, method)
    return _without_nan(a, parts, axis, keepdims is True, _in_proportion)


def percentile(a: Any, q: Any, *args: Any, **options: Any) -> Any:
    """``quantile`` of hundredths."""
    return quantile(a, np.asarray(q) / 100, *args, **options)


def nanpercentile(a: Any, q: Any, *args: Any, **options: Any) -> Any:
    """``nanquantile`` of hundredths."""
    return nanquantile(a, np.asarray(q) / 100, *args, **options)


def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The middle of the sorted elements along ``axis``, or the mean of the two in the middle; NaN
    where one of them is."""
    array = array_of(a)
    fibers, shape = _fibers(array, axis, keepdims)
    n, ordered = fibers.shape[-1], sort(fibers, axis=-1)
    middle = getitem(ordered, (..., slice(max(n - 1, 0) // 2, n // 2 + 1)))
    found = red.mean(middle, axis=-1)
    if n and array.dtype.kind == "f":
        broken = fn.isnan(getitem(ordered, (..., n - 1)))
        found = fn.where(broken, array.dtype.type(np.nan), found)
    return found if found.shape == shape else reshape(found, shape)


def nanmedian(a: Any, axis: Any = None, *_: Any, keepdims: Any = False, **__: Any) -> Any:
    """``median`` of the elements that are not NaN; NaN, with a warning, where all are."""
    half = np.asarray(0.5)
    return _without_nan(a, half, axis, keepdims is True, lambda low, high, part: (low + high) / 2)


def _parts(a: Any, q: Any, method: str) -> Any:
    if method != "linear" or array_of(a).dtype.kind not in "biuf":
        raise TypeError(f"quantile has the method 'linear' for real numbers, not {method!r}")
    parts = np.asarray(q, np.float64)
    if parts.size and not (parts.min() >= 0 and parts.max() <= 1):
        raise ValueError("quantiles are from 0 to 1, percentiles to 100")
    return parts


def _kind(array: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = array.dtype
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def _fibers(array: Any, axis: Any, keepdims: bool) -> tuple[Any, tuple[int, ...]]:
    """``array`` with one axis for all of ``axis``, the last; and the shape of a result."""
    axes = axes_of(_whole(axis), array.ndim)
    kept = [n for k, n in enumerate(array.shape) if k not in axes]
    shape = [1 if k in axes else n for k, n in enumerate(array.shape)] if keepdims else kept
    if len(axes) > 1 and len(axes) < array.ndim:
        array = moveaxis(array, axes, tuple(range(-len(axes), 0)))
    elif len(axes) == 1 and axes[0] != array.ndim - 1:
        array = moveaxis(array, axes[0], -1)
    if len(axes) != 1:
        length = math.prod(array.shape[len(kept) :])
        array = reshape(array, (*kept, length))
    return array, tuple(shape)


def _whole(axis: Any) -> Any:
    """Axes as numbers of Python."""
    if isinstance(axis, (tuple, list, np.ndarray)) and np.ndim(axis):
        return tuple(map(int, axis))
    return axis


def _between(ordered: Any, places: Any) -> Any:
    """The elements of sorted fibers at places between two of them, the places outermost."""
    last = ordered.shape[-1] - 1
    low = np.floor(places).astype(np.intp)
    wanted = np.concatenate([low, np.minimum(low + 1, last), [last]])
    chosen = getitem(ordered, (..., wanted)).to_numpy()
    rows = np.moveaxis(chosen.astype(np.float64), -1, 0)
    below, above, greatest = rows[: len(low)], rows[len(low) : -1], rows[-1]
    part = (places - low).reshape(-1, *(1,) * (rows.ndim - 1))
    return np.where(np.isnan(greatest), np.nan, _in_proportion(below, above, part))


def _in_proportion(below: Any, above: Any, part: Any) -> Any:
    apart = np.subtract(above, below, out=np.zeros_like(above), where=above != below)
    return np.where(part < 0.5, below + apart * part, above - apart * (1 - part))


def _without_nan(a: Any, parts: Any, axis: Any, keepdims: bool, between: Between) -> Any:
    """What is between two elements of each fiber that are not NaN, at the place that each of
    ``parts`` says."""
    array = array_of(a)
    fibers, shape = _fibers(array, axis, keepdims)
    length = fibers.shape[-1]
    absent = red.sum(fn.isnan(fibers), axis=-1).to_numpy() if array.dtype.kind == "f" else 0
    counts = np.broadcast_to(length - absent, fibers.shape[:-1])
    if not counts.all():
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=2)
    last = np.maximum(counts - 1, 0)
    places = np.multiply.outer(parts.reshape(-1), last)
    low = np.floor(places).astype(np.intp)
    if length:
        both = np.concatenate([low, np.minimum(low + 1, last)])
        chosen = take_along_axis(sort(fibers, axis=-1), np.moveaxis(both, 0, -1), axis=-1)
        rows = np.moveaxis(chosen.to_numpy().astype(np.float64), -1, 0)
    else:
        rows = np.full((2 * len(low), *low.shape[1:]), np.nan)
    if between is not _in_proportion:  # the mean of the two in the middle, or the one there
        high = np.where(places == low, rows[: len(low)], rows[len(low) :])
    else:
        high = rows[len(low) :]
    found = np.where(counts > 0, between(rows[: len(low)], high, places - low), np.nan)
    return array_of(found.astype(_kind(array)).reshape((*parts.shape, *shape)))


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.quantile: quantile, np.nanquantile: nanquantile, np.percentile: percentile,
    np.nanpercentile: nanpercentile, np.median: median, np.nanmedian: nanmedian,
}  # fmt: skip
"""The function of this package for each of NumPy's."""

__all__ = ["FUNCTIONS", "median", "quantile"]
