"""Functions of NumPy that describe data, on tensors: covariances, histograms, integrals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from finch_array import functions as fn
from finch_array import reductions as red
from finch_array import searching
from finch_array.axes import axis_of
from finch_array.indexing import getitem, take
from finch_array.manipulation import atleast_nd, concat, reshape
from finch_array.operands import array_of, in_numpy, is_dense
from finch_array.products import matmul
from finch_array.ready import warn_dense
from finch_array.run import coordinates
from finch_core.errors import DimensionMismatch

Dense = np.ndarray[Any, Any]

# -- covariances ------------------------------------------------------------------------------


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """The covariances of the rows of ``m`` (``rowvar=False``: of its columns) and of ``y``, as a
    dense matrix of floats, with a ``PerformanceWarning`` where it is large; of one vector its
    variance. Memory and time are those of what is stored and of the result. Raises ``ValueError``
    for more than two dimensions, and what NumPy raises for weights and degrees of freedom."""
    rows = _variables(array_of(m), rowvar, array_of(m).ndim == 1)
    if y is not None:
        other = atleast_nd(array_of(y), 2)
        rows = concat([rows, _variables(other, rowvar, other.shape[0] == 1)], axis=0)
    wanted = np.dtype(dtype) if dtype is not None else np.result_type(rows.dtype, np.float64)
    options: Any = {"ddof": ddof, "fweights": in_numpy(fweights), "aweights": in_numpy(aweights)}
    if is_dense(rows) or not rows.size or not np.isfinite(rows.fill_value):
        warn_dense("cov", rows.shape, wanted, [rows])
        return array_of(np.cov(rows.to_numpy(), bias=bias, dtype=wanted, **options))
    warn_dense("cov", (rows.shape[0],) * 2, wanted, [rows], "take some of the rows")
    weights, factor = _weighted(rows.shape[1], bias, **options)
    with np.errstate(all="ignore"):
        found = _scatter(fn.cast(rows, wanted), weights) / factor
    return array_of(found.astype(wanted).squeeze())


def _variables(array: Any, rowvar: bool, is_row: bool) -> Any:
    """A matrix with a row for each variable."""
    if array.ndim > 2:
        raise ValueError(f"covariances are of vectors and matrices, not of shape {array.shape}")
    found = atleast_nd(array, 2)
    return found if rowvar or is_row else found.T


def _weighted(
    n: int, bias: bool, ddof: Any, fweights: Any, aweights: Any
) -> tuple[Dense | None, Any]:
    """The weight of each observation (None: 1), and what sums of products are divided by."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy checks the arguments; no data has no covariance
        long = 1 if fweights is None and aweights is None else n
        np.cov(np.zeros((1, long)), None, True, bias, ddof, fweights, aweights)
    free = int(not bias) if ddof is None else ddof
    weights = None if fweights is None else np.asarray(fweights, np.float64)
    if aweights is not None:
        own = np.asarray(aweights, np.float64)
        weights = own if weights is None else weights * own
    total = float(n) if weights is None else weights.sum()
    taken = free
    if weights is not None and free and aweights is not None:
        taken = free * (weights * np.asarray(aweights)).sum() / total
    factor = total - taken
    if factor <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=5)
    return weights, np.float64(max(factor, 0.0))


def _scatter(rows: Any, weights: Dense | None) -> Dense:
    """The sums of products of distances from the means, for all pairs of rows.

    Distances from the fill are sparse, and lose few digits where few elements differ from it: the
    square of their mean is at most half of the mean of their squares where half do. Rows of more
    are made dense, which at most doubles what is stored, and their distances from the mean taken.
    """
    n = rows.shape[1]
    far = fn.FUNCTIONS["subtract"](rows, rows.dtype.type(rows.fill_value))
    counts = red.count_nonzero(far, axis=1).to_numpy()
    full, few = np.flatnonzero(2 * counts > n), np.flatnonzero(2 * counts <= n)
    found = np.empty((len(counts),) * 2, rows.dtype)
    some = take(far, few, axis=0) if len(full) else far
    scaled = some if weights is None else fn.multiply(some, weights)
    sums, total = red.sum(scaled, axis=1).to_numpy(), n if weights is None else weights.sum()
    products = matmul(scaled, fn.conj(some).T).to_numpy()
    found[np.ix_(few, few)] = products - np.multiply.outer(sums, sums.conj()) / total
    if len(full):
        whole = take(rows, full, axis=0).to_numpy()
        whole = whole - np.average(whole, axis=1, weights=weights)[:, np.newaxis]
        heavy = whole if weights is None else whole * weights
        found[np.ix_(full, full)] = heavy @ whole.conj().T
        between = matmul(some, heavy.conj().T).to_numpy()
        between = between - np.multiply.outer(sums, heavy.sum(axis=1).conj()) / total
        found[np.ix_(few, full)] = between
        found[np.ix_(full, few)] = between.conj().T
    return found


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The correlations of the rows of ``x`` (``rowvar=False``: of its columns) and of ``y``, as a
    dense matrix of floats. Raises what ``cov`` raises."""
    found = cov(x, y, rowvar, dtype=dtype).to_numpy()
    with np.errstate(all="ignore"):
        if not found.ndim:
            return array_of(found / found)
        deviation = np.sqrt(np.diagonal(found).real)
        found = found / deviation[:, np.newaxis] / deviation
    np.clip(found.real, -1, 1, out=found.real)
    if found.dtype.kind == "c":
        np.clip(found.imag, -1, 1, out=found.imag)
    return array_of(found)


# -- histograms -------------------------------------------------------------------------------


def histogram(
    x: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """The numbers of elements by bins, or the sums of their ``weights``, as of ``np.histogram``,
    from what is stored."""
    array, bins = array_of(x), in_numpy(bins)
    if is_dense(array):
        given = in_numpy(weights)
        return cast(Any, np.histogram)(array.to_numpy(), bins, range, density, given)
    if weights is not None:
        found, edges = _weighted_histogram(array, bins, range, array_of(weights))
        return (found / np.diff(edges).astype(float) / found.sum() if density else found), edges
    values, many, missing = searching.counted(array)
    if many is not None or isinstance(bins, str):
        values, counts = (part.to_numpy() for part in searching.unique_counts(array))
        found, edges = np.histogram(values, bins, range, weights=counts)
    else:
        fills = np.full(min(missing, 1), array.fill_value)
        fills = fills.astype(np.uint8) if fills.dtype == bool else fills
        if range is None and np.ndim(bins) == 0 and array.size:
            range = _ends([values, fills], bins)
        found, edges = np.histogram(values, bins, range)
        found = found + np.histogram(fills, bins, range)[0] * missing
    if density:
        return found / np.diff(edges).astype(float) / found.sum(), edges
    return found.astype(np.intp), edges


def _ends(parts: list[Dense], bins: Any) -> tuple[Any, Any]:
    """The least and the greatest of all elements. Raises ``ValueError`` for what is not finite."""
    there = [part for part in parts if part.size]
    ends = np.asarray([end for p in there for end in (p.min(), p.max())], there[-1].dtype)
    np.histogram_bin_edges(ends, bins)
    return ends.min(), ends.max()


def _weighted_histogram(array: Any, bins: Any, range: Any, weights: Any) -> tuple[Any, Any]:
    if weights.shape != array.shape:
        raise DimensionMismatch(f"weights of shape {weights.shape} for {array.shape}")
    array = fn.cast(array, np.uint8) if array.dtype == bool else array
    values, fills, given, rest = _with_rest([array], weights)
    if range is None and np.ndim(bins) == 0 and not isinstance(bins, str) and array.size:
        range = _ends([values[0], fills[0]], bins)
    found, edges = np.histogram(values[0], bins, range, weights=given)
    more, _ = np.histogram(fills[0], bins, range, weights=rest)
    return (found + more).astype(weights.dtype), edges


def _with_rest(arrays: list[Any], weights: Any) -> tuple[list[Dense], list[Dense], Dense, Dense]:
    """The elements of arrays of one shape where one of them stores something, the fill of each if
    elements are left (none or one), and the weights of both; ``weights`` None: 1 each."""
    shape, size = arrays[0].shape, arrays[0].size
    places: Any = np.zeros(0, np.intp)
    for array in arrays:
        if is_dense(array):
            places = np.arange(size)
            break
        _, coords, _ = coordinates(array)
        places = np.union1d(places, np.ravel_multi_index(tuple(coords), shape))
    at = tuple(np.unravel_index(places, shape))
    values = [getitem(array, at).to_numpy() for array in arrays]
    left = min(size - len(places), 1)
    fills = [np.full(left, array.fill_value, array.dtype) for array in arrays]
    if weights is None:
        return values, fills, np.ones(len(places)), np.full(left, float(size - len(places)))
    given = getitem(weights, at).to_numpy()
    total = red.sum(weights).to_numpy()
    return values, fills, given, np.full(left, total - given.sum())


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """The numbers of pairs of elements of two vectors by bins, or the sums of their ``weights``, as
    of ``np.histogram2d``, from what is stored. Raises ``DimensionMismatch``, a ``ValueError``, for
    other shapes."""
    given = [array_of(part) for part in (x, y, *([] if weights is None else [weights]))]
    if {part.ndim for part in given} != {1} or len({part.shape for part in given}) > 1:
        told = ", ".join(str(part.shape) for part in given)
        raise DimensionMismatch(f"histogram2d is of vectors of one length, not of shapes {told}")
    values, fills, some, rest = _with_rest(given[:2], None if weights is None else given[2])
    first, second = (np.concatenate(pair) for pair in zip(values, fills, strict=True))
    counts = np.concatenate([some, rest])
    return np.histogram2d(first, second, _edges(bins), range, density, counts)


def _edges(bins: Any) -> Any:
    """The bins of two dimensions, of which each may be a tensor."""
    return [in_numpy(part) for part in bins] if isinstance(bins, (list, tuple)) else in_numpy(bins)


# -- integrals --------------------------------------------------------------------------------


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of ``y`` along ``axis`` by trapezoids, at the points ``x`` or in steps of
    ``dx``. Raises ``OutOfBounds`` for an axis that ``y`` lacks."""
    array = array_of(y)
    place = axis_of(axis, array.ndim)
    step = dx
    if x is not None:
        points = array_of(x)
        step = searching.diff(points, axis=0 if points.ndim == 1 else axis)
        if points.ndim == 1:
            step = reshape(step, tuple(-1 if k == place else 1 for k in np.arange(array.ndim)))
    before = (slice(None),) * place
    ends = [getitem(array, (*before, part)) for part in (slice(1, None), slice(None, -1))]
    height = fn.FUNCTIONS["divide"](fn.multiply(step, fn.add(*ends)), 2.0)
    return red.sum(height, axis=place)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.cov: cov, np.corrcoef: corrcoef, np.histogram: histogram, np.histogram2d: histogram2d,
    np.trapezoid: trapezoid,
}  # fmt: skip
"""The function of this package for each of NumPy's."""

__all__ = ["FUNCTIONS"]
