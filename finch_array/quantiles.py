"""Quantiles and medians along any axes, as NumPy's functions; also of what is not NaN."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from finch_array.axes import axes_of
from finch_array.fibers import Fibers, fibers, sorted_fibers
from finch_array.leaves import differs
from finch_array.manipulation import check_size, moveaxis, reshape, unraveled
from finch_array.numpy_arguments import parameters_of
from finch_array.operands import array_of, in_numpy, is_dense
from finch_array.run import SPARE, is_short, sorted_tensor, stored_elements
from finch_core.records import frozen

Between = Callable[[Any, Any, Any], Any]
"""The value between two elements, by the part of the way from the first."""


def _fitted(a: float, b: float) -> Callable[[Any, Any], Any]:
    """The places of Hyndman and Fan's continuous methods, by their two parameters."""
    return lambda n, q: n * q + (a + q * (1 - a - b)) - 1


def _closest(n: Any, q: Any) -> Any:
    at = n * q - 1.5
    return np.floor(at) + ((at % 1 != 0) | (np.floor(at) % 2 == 0))


def _averaged(n: Any, q: Any) -> Any:
    at = n * q - 1
    return np.where(at % 1 == 0, at + 0.5, np.ceil(at))


_DISCRETE: dict[str, Callable[[Any, Any], Any]] = {
    "lower": lambda n, q: np.floor((n - 1) * q), "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.around((n - 1) * q), "closest_observation": _closest,
    "inverted_cdf": lambda n, q: np.ceil(n * q - 1),
}  # fmt: skip
_PLACES: dict[str, Callable[[Any, Any], Any]] = {
    **_DISCRETE,
    "linear": lambda n, q: (n - 1) * q,
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "averaged_inverted_cdf": _averaged, "interpolated_inverted_cdf": _fitted(0, 1),
    "hazen": _fitted(0.5, 0.5), "weibull": _fitted(0, 0),
    "median_unbiased": _fitted(1 / 3, 1 / 3), "normal_unbiased": _fitted(3 / 8, 3 / 8),
}  # fmt: skip
"""The place of part ``q`` among ``n`` sorted elements by each of NumPy's methods: an element, or
between two; ``_DISCRETE`` are those that give elements alone."""


def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: Any = False,
) -> Any:  # fmt: skip
    """The value below which the part ``q``, a number or several, of the sorted elements along
    ``axis`` is, an element or between two, as NumPy's ``method`` says; NaN where one of them is.
    Raises ``ValueError`` for another method."""
    return _quantiles(np.quantile, a, _checked(q, a, method), axis, keepdims is True, method)


def nanquantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: Any = False,
) -> Any:  # fmt: skip
    """``quantile`` of the elements that are not NaN; NaN, with a warning, where all are."""
    return _quantiles(np.nanquantile, a, _checked(q, a, method), axis, keepdims is True, method)


@parameters_of(quantile)
def percentile(a: Any, q: Any, *args: Any, **options: Any) -> Any:
    """``quantile`` of hundredths."""
    return quantile(a, _of_hundredths(q), *args, **options)


@parameters_of(nanquantile)
def nanpercentile(a: Any, q: Any, *args: Any, **options: Any) -> Any:
    """``nanquantile`` of hundredths."""
    return nanquantile(a, _of_hundredths(q), *args, **options)


def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The middle of the sorted elements along ``axis``, or the mean of the two in the middle; NaN
    where one of them is."""
    return _quantiles(np.median, a, None, axis, keepdims)


def nanmedian(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """``median`` of the elements that are not NaN; NaN, with a warning, where all are."""
    return _quantiles(np.nanmedian, a, None, axis, keepdims is True)


def _of_hundredths(q: Any) -> Any:
    return q / 100 if type(q) in (int, float) else np.asarray(q) / 100


def _checked(q: Any, a: Any, method: str) -> Any:
    """``q`` if it has the parts of quantiles, and ``a`` real numbers."""
    dtype = array_of(a).dtype
    if dtype.kind not in "biuf":
        raise TypeError(f"quantile is that of real numbers, not of {dtype}")
    if method not in _PLACES:
        raise ValueError(
            f"quantile has the methods {', '.join(map(repr, _PLACES))}, not {method!r}"
        )
    q = in_numpy(q)
    parts = np.asarray(q, np.float64)
    if parts.size and not (parts.min() >= 0 and parts.max() <= 1):
        raise ValueError("quantiles are from 0 to 1, percentiles to 100")
    return q


def _dtype(array: Any, q: Any, method: str) -> np.dtype[Any]:
    """The dtype of a result, NumPy's: an integer part (the least, the greatest) keeps that of the
    array, a number of Python that of floats; and so does a method that gives elements."""
    dtype: np.dtype[Any] = array.dtype
    if dtype.kind in "mM" or dtype.names is not None:
        raise TypeError(f"quantiles are those of numbers, not of {dtype}")
    if method in _DISCRETE:
        return dtype
    if q is None or (type(q) is float and dtype.kind == "f"):
        return np.dtype(np.float64) if dtype.kind in "biu" else dtype
    own = np.asarray(q).dtype
    if method != "linear" and dtype.kind in "iu" and own.kind in "biu":  # whose places are floats
        own = np.dtype(np.float64)
    return dtype if own.kind in "biu" else np.result_type(dtype, own)


def _quantiles(
    function: Callable[..., Any], a: Any, q: Any, axis: Any, keepdims: bool, method: str = "linear"
) -> Any:
    """NumPy's ``function`` of an array: what is between two sorted elements of each fiber, at the
    place that each part ``q`` says, or the mean of the two in the middle (None).

    Only fibers that store something are looked at: the result has the fill of all others, and is
    dense where these are not many more.
    """
    array = array_of(a)
    dtype, axes = _dtype(array, q, method), axes_of(_whole(axis), array.ndim)
    if array.size <= SPARE or is_dense(array):
        given = () if q is None else (q,)
        options: dict[str, Any] = {"axis": axes if array.ndim else None, "keepdims": keepdims}
        options |= {} if q is None else {"method": method}
        plain = array.to_numpy()
        if (
            q is not None and method not in _DISCRETE and plain.dtype.kind == "b"
        ):  # of which NumPy has no differences
            return array_of(np.asarray(function(plain.astype(np.uint8), *given, **options), dtype))
        return array_of(np.asarray(function(plain, *given, **options)))
    kept = tuple([n for k, n in enumerate(array.shape) if k not in axes])
    if kept or dtype.kind == "c":
        own = sorted_fibers(_fibers(array, axes, kept), False)
    else:
        own = Row.of(array)
    wide = np.complex128 if dtype.kind == "c" else np.float64
    parts = np.asarray(0.5 if q is None else q, np.float64)
    between = _mean if q is None else _in_proportion
    if method in _DISCRETE or (q is not None and np.asarray(q).dtype.kind in "biu"):
        between = _first
    fill = np.asarray(own.fill).astype(wide)
    of_fills = len(own.numbers) < math.prod(kept)
    absent = np.zeros(len(own.numbers), np.intp)
    if function in (np.nanquantile, np.nanmedian) and array.dtype.kind not in "biu":
        absent = _count_nan(own)
        if (absent == own.shape[-1]).any() or (of_fills and np.isnan(fill)):
            warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=3)
    last = own.shape[-1] - absent - 1
    found = _elements_between(own, parts.reshape(-1), last, wide, between, _PLACES[method])
    if keepdims:
        kept = tuple([1 if k in axes else n for k, n in enumerate(array.shape)])
    with np.errstate(invalid="ignore"):
        fill = between(fill, fill, 0.0)
    return _of_numbers(own, found.astype(dtype), np.asarray(fill, dtype), parts.shape, kept)


@frozen(eq=False)
class Row(Fibers):
    """All elements of an array as one fiber whose stored elements are in any order, at no place.
    Those at few places, were they sorted, are found by ``np.partition``."""

    @classmethod
    def of(cls, array: Any) -> Row:
        """That of an array of real numbers. Raises ``DimensionMismatch`` for one of more elements
        than can be counted."""
        check_size((array.size,))
        values = stored_elements(array)
        one = np.zeros(min(len(values), 1), np.intp)
        counts, none = one + len(values), np.empty(0, np.intp)
        return cls(one, one, counts, none, values, array.fill_value, (array.size,))

    def gaps(self) -> Any:
        """How many elements are before the fill: those that are less, or not NaN where it is."""
        fill, values = self.fill, self.values
        before = values < fill if fill == fill else values == values
        return np.full(len(self.starts), np.count_nonzero(before))

    def at(self, places: Any) -> Any:
        wanted = np.unique(places)
        return np.partition(self.values, wanted)[wanted][wanted.searchsorted(places)]


def _fibers(array: Any, axes: tuple[int, ...], kept: tuple[int, ...]) -> Fibers:
    """The fibers of an array along all of ``axes``; ``kept`` is the shape of the others."""
    if len(axes) == 1:
        return fibers(array, axes[0])
    if kept:
        array = moveaxis(array, axes, tuple(range(-len(axes), 0)))
    return fibers(reshape(array, (*kept, math.prod(array.shape[len(kept) :]))), len(kept))


def _count_nan(own: Fibers) -> Any:
    """How many elements of each fiber are NaN."""
    if not len(own.starts):
        return own.counts
    found = np.add.reduceat(np.isnan(own.values), own.starts, dtype=np.intp)
    return found + (own.shape[-1] - own.counts) * bool(np.isnan(own.fill))


def _elements_between(
    own: Fibers,
    parts: Any,
    last: Any,
    wide: Any,
    between: Between,
    place: Callable[[Any, Any], Any],
) -> Any:
    """For each part and each of the sorted fibers, what is between two of its elements up to that
    at ``last``, the one behind being NaN where it is; NaN where ``last`` is negative. ``place``
    tells where, by the number of elements and the part."""
    end = np.maximum(last, 0)
    places = np.clip(place(end + 1, parts[:, None]), 0, end)
    low = np.floor(places).astype(np.intp)
    above = np.minimum(low + 1, end)
    gap, missing = own.gaps(), own.shape[-1] - own.counts

    def elements(ranks: Any) -> Any:
        if not len(own.starts):
            return np.empty(ranks.shape, wide)
        stored = np.where(ranks < gap, ranks, ranks - missing)
        absent = (ranks >= gap) & (ranks < gap + missing)
        values = own.at(own.starts + np.where(absent, own.counts - 1, stored)).astype(wide)
        return np.where(absent, own.fill, values)

    below, behind, final = elements(np.stack([low, above, np.broadcast_to(last, low.shape)]))
    if between is _mean and (places == low).all():
        behind = below
    with np.errstate(invalid="ignore"):
        found = between(below, behind, places - low)
    return np.where(np.isnan(final) | (last < 0), np.nan, found)


def _of_numbers(
    own: Fibers, found: Any, fill: Any, parts: tuple[int, ...], kept: tuple[int, ...]
) -> Any:
    """The array with these elements for each part and each of the fibers, ``fill`` elsewhere."""
    shape, cells = (*parts, *kept), math.prod(kept)
    if is_short(cells, len(own.numbers)):
        made = np.full((len(found), cells), fill)
        made[:, own.numbers] = found
        return array_of(made.reshape(shape))
    part, at = differs(found, fill).nonzero()
    coords = [
        *(unraveled(part, parts) if parts else ()),
        *unraveled(own.numbers[at], kept),
    ]
    return sorted_tensor(shape, coords, found[part, at], fill[()], in_order=True)


def _whole(axis: Any) -> Any:
    """Axes as numbers of Python."""
    if isinstance(axis, (tuple, list, np.ndarray)) and np.ndim(axis):
        return tuple(map(int, axis))
    return axis


def _in_proportion(below: Any, above: Any, part: Any) -> Any:
    apart = above - below
    return np.where(part < 0.5, below + apart * part, above - apart * (1 - part))


def _first(below: Any, above: Any, part: Any) -> Any:
    return below


def _mean(low: Any, high: Any, part: Any) -> Any:
    """The mean of the two in the middle, or the one there."""
    return np.where(part == 0, low, (low + high) / 2)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.quantile: quantile, np.nanquantile: nanquantile, np.percentile: percentile,
    np.nanpercentile: nanpercentile, np.median: median, np.nanmedian: nanmedian,
}  # fmt: skip
"""The function of this package for each of NumPy's."""

__all__ = ["FUNCTIONS", "median", "quantile"]
