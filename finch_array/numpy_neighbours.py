"""Functions of NumPy that combine elements with those beside them, on tensors: gradients,
convolutions and windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from finch_array import functions as fn
from finch_array.axes import axis_of
from finch_array.creation import from_coo
from finch_array.indexing import getitem
from finch_array.manipulation import atleast_nd, concat, flip
from finch_array.operands import array_of, in_numpy, is_dense
from finch_array.ready import memory_for, warn_dense
from finch_array.run import coordinates, sorted_tensor
from finch_core.errors import DimensionMismatch

Dense = np.ndarray[Any, Any]

# -- gradients --------------------------------------------------------------------------------


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The derivatives of ``f`` along ``axis`` (None: along each, as a tuple) by differences of
    neighbours, in steps of 1, of a number, or between points, as ``np.gradient``: floats, of
    integers float64. Raises ``ValueError`` for too few elements, points of another number and
    another order, ``TypeError`` for bools and another number of steps, and ``DimensionMismatch``
    for an axis that is named twice."""
    array = array_of(f)
    places = _places(axis, array.ndim)
    if len(set(places)) != len(places):
        raise DimensionMismatch(f"the axes {axis} of gradient are not distinct")
    points = _points(varargs, [array.shape[place] for place in places])
    if edge_order not in (1, 2):
        raise ValueError(f"the edge_order of gradient is 1 or 2, not {edge_order!r}")
    if array.dtype.kind == "b":
        raise TypeError("gradient subtracts, which bools do not: cast them, A.astype(float)")
    pairs = zip(places, points, strict=True)
    found = [_gradient(array, place, part, edge_order) for place, part in pairs]
    return found[0] if len(found) == 1 else tuple(found)


def _places(axis: Any, ndim: int) -> tuple[int, ...]:
    """One or several axes, in their order, or None for all, from 0 up."""
    given = range(ndim) if axis is None else axis if np.iterable(axis) else (axis,)
    return tuple([axis_of(a, ndim) for a in given])


def _points(given: Sequence[Any], lengths: Sequence[int]) -> list[Dense]:
    """The step along each of dimensions of these lengths, or where its elements are."""
    points = [np.asarray(in_numpy(part)) for part in given] or [np.asarray(1.0)]
    if len(points) == 1 and not points[0].ndim:
        points *= len(lengths)
    if len(points) != len(lengths):
        raise TypeError(f"gradient along {len(lengths)} axes takes as many steps, not {len(given)}")
    for part, n in zip(points, lengths, strict=True):
        if part.ndim and part.shape != (n,):
            raise ValueError(f"an axis of {n} elements has as many points, not {part.shape}")
    return points


def _steps(points: Dense) -> Any:
    """What is between neighbours: one number where they are even."""
    if not points.ndim:
        return points[()]
    apart = np.diff(points.astype(np.float64) if points.dtype.kind in "iu" else points)
    return apart[0] if bool((apart == apart[0]).all()) else apart


def _gradient(array: Any, place: int, points: Dense, edge_order: int) -> Any:
    n = array.shape[place]
    if n <= edge_order:
        raise ValueError(
            f"a gradient of order {edge_order} at the ends takes {edge_order + 1} elements along "
            f"an axis, not {n}"
        )
    if is_dense(array):
        whole, order = cast(Any, np.gradient), edge_order
        return array_of(whole(array.to_numpy(), points, axis=place, edge_order=order))
    step = _steps(points)
    wanted = array.dtype if array.dtype.kind in "fc" else np.dtype(np.float64)
    array = array if array.dtype == wanted else fn.cast(array, wanted)

    def part(start: int, stop: int) -> Any:
        return getitem(array, (*[slice(None)] * place, slice(start, stop)))

    apart = [step, step] if np.ndim(step) == 0 else [step[:2], step[:-3:-1]]
    parts = [
        _end(part(0, 1), part(1, 2), part(2, 3), apart[0], edge_order, 1),
        _middle([part(0, n - 2), part(1, n - 1), part(2, n)], place, step),
        _end(part(n - 1, n), part(n - 2, n - 1), part(n - 3, n - 2), apart[1], edge_order, -1),
    ]
    found = concat([x for x in parts if x.shape[place]], axis=place)
    return found if found.dtype == wanted else fn.cast(found, wanted)


def _middle(parts: Sequence[Any], place: int, step: Any) -> Any:
    """The derivatives at elements with two neighbours."""
    subtract, divide = fn.FUNCTIONS["subtract"], fn.FUNCTIONS["divide"]
    before, here, after = parts
    if np.ndim(step) == 0:
        return divide(subtract(after, before), 2.0 * step)
    one, two = step[:-1], step[1:]
    factors = (-two / (one * (one + two)), (two - one) / (one * two), one / (two * (one + two)))
    shape = [-1 if k == place else 1 for k in range(before.ndim)]
    terms = [
        fn.multiply(x, w.reshape(shape))
        for x, w in zip((before, here, after), factors, strict=True)
    ]
    return fn.add(fn.add(terms[0], terms[1]), terms[2])


def _end(end: Any, second: Any, third: Any, step: Any, edge_order: int, sign: int) -> Any:
    """The derivative at an end, from the elements nearest to it. ``sign`` is -1 at the last one."""
    one, two = (step, step) if np.ndim(step) == 0 else (step[0], step[min(1, len(step) - 1)])
    if edge_order == 1:
        pair = (second, end) if sign > 0 else (end, second)
        return fn.FUNCTIONS["divide"](fn.FUNCTIONS["subtract"](*pair), one)
    factors = (
        -(2.0 * one + two) / (one * (one + two)), (one + two) / (one * two),
        -one / (two * (one + two)),
    )  # fmt: skip
    terms = [fn.multiply(x, sign * w) for x, w in zip((end, second, third), factors, strict=True)]
    return fn.add(fn.add(terms[0], terms[1]), terms[2])


# -- convolutions -----------------------------------------------------------------------------


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two vectors, of ``mode`` ``"full"``, ``"same"`` or ``"valid"``, as of
    ``np.convolve``: in time for the pairs of what is stored, and dense where the longer one is. Of
    vectors with fills other than 0 it is dense. Raises ``ValueError`` for another mode, no
    elements, and ``DimensionMismatch``, one, for arrays that are no vectors."""
    x, y = (atleast_nd(array_of(part), 1) for part in (a, v))
    _check("convolve", x, y, mode)
    long, short = (x, y) if x.size >= y.size else (y, x)
    start = {"full": 0, "same": (short.size - 1) // 2, "valid": short.size - 1}[mode]
    return _part_of_sums(long, short, start, mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The sums of products of ``a`` and ``v``, conjugated, at all distances, as of
    ``np.correlate``; see ``convolve``."""
    x, y = (atleast_nd(array_of(part), 1) for part in (a, v))
    _check("correlate", x, y, mode)
    y = flip(fn.conj(y), axis=0)
    if x.size >= y.size:
        return convolve(x, y, mode)
    before = x.size - 1
    start = {"full": 0, "same": before - before // 2, "valid": before}[mode]
    return _part_of_sums(y, x, start, mode)


def _check(name: str, x: Any, y: Any, mode: str) -> None:
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"the mode of {name} is 'full', 'same' or 'valid', not {mode!r}")
    if x.ndim > 1 or y.ndim > 1:
        raise DimensionMismatch(f"{name} is of vectors, not of arrays of {x.shape} and {y.shape}")
    if not x.size or not y.size:
        raise ValueError(f"{name} takes vectors that have elements")


def _part_of_sums(long: Any, short: Any, start: int, mode: str) -> Any:
    """The elements from ``start`` on of the convolution of two vectors."""
    lengths = {"full": long.size + short.size - 1, "same": long.size}
    stop = start + lengths.get(mode, long.size - short.size + 1)
    wanted = np.result_type(long.dtype, short.dtype)
    if is_dense(long) and is_dense(short):
        found = array_of(np.convolve(long.to_numpy(), short.to_numpy()))
    elif long.fill_value != 0 or short.fill_value != 0:
        warn_dense(
            "convolve", (stop - start,), wanted, [long, short], "a fill of 0 keeps it sparse"
        )
        found = array_of(np.convolve(long.to_numpy(), short.to_numpy()))
    else:
        found = _sums(fn.cast(long, wanted), fn.cast(short, wanted))
    return found if mode == "full" else getitem(found, slice(start, stop))


MOST = 1 << 20
"""So many products are made at once."""


def _sums(x: Any, y: Any) -> Any:
    """The convolution of two vectors of one dtype, of which one is not dense."""
    size = x.size + y.size - 1
    (_, (i,), left), (_, (k,), right) = coordinates(x), coordinates(y)
    if len(i) < len(k):
        i, left, k, right = k, right, i, left
    whole = None
    if any(is_dense(part) and part.size > size // 2 for part in (x, y)):
        warn_dense("convolve", (size,), x.dtype, [x, y], "lists of what is not 0 keep it sparse")
        with memory_for((size,)):
            whole = np.zeros(size, x.dtype)
    taken = max(1, MOST // max(1, len(k)))
    places: list[Dense] = [np.zeros(0, np.intp)]
    values: list[Dense] = [np.zeros(0, x.dtype)]
    for first in range(0, len(i), taken):
        some = slice(first, first + taken)
        at = np.add.outer(i[some], k).reshape(-1)
        products = np.multiply.outer(left[some], right).reshape(-1)
        if whole is not None:
            np.add.at(whole, at, products)
            continue
        at, products = _summed(at, products)
        places.append(at)
        values.append(products)
    if whole is not None:
        return array_of(whole)
    return from_coo((np.concatenate(places),), np.concatenate(values), (size,))


def _summed(at: Dense, values: Dense) -> tuple[Dense, Dense]:
    """Indices, each once, in order, and the sums of the values at each. Indices that lie close
    together count as places of a vector, others are sorted."""
    if not at.size:
        return at, values
    least = at.min()
    span = int(at.max() - least) + 1
    if span <= 4 * len(at):
        sums = np.zeros(span, values.dtype)
        there = np.zeros(span, bool)
        np.add.at(sums, at - least, values)
        there[at - least] = True
        found = np.flatnonzero(there)
        return found + least, sums[found]
    order = np.argsort(at, kind="stable")
    at, values = at[order], values[order]
    starts = np.flatnonzero(np.concatenate([[True], at[1:] != at[:-1]]))
    return at[starts], np.add.reduceat(values, starts, dtype=values.dtype)


# -- windows ----------------------------------------------------------------------------------


def windows(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """The windows of ``x`` of ``window_shape`` along ``axis`` (None: each), as the last dimensions
    of an array of its own, which stores an element as often as windows have it. Raises
    ``ValueError`` for windows that are larger than ``x``, of negative sizes, or not one for each
    axis."""
    array = array_of(x)
    sizes = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = _places(axis, array.ndim)
    if len(sizes) != len(axes):
        raise ValueError(f"windows of shape {sizes} along {len(axes)} axes: each has a size")
    shape, counts = list(array.shape), []
    for place, size in zip(axes, sizes, strict=True):
        if size < 0:
            raise ValueError(f"a window has no negative size, as in {sizes}")
        if size > shape[place]:
            raise ValueError(f"windows of shape {sizes} do not fit an array of {array.shape}")
        shape[place] -= size - 1
        counts.append(shape[place])
    if is_dense(array):
        with memory_for((*shape, *sizes)):
            found = sliding_window_view(array.to_numpy(), sizes, axes)
            return array_of(np.array(found))
    _, coords, values = coordinates(array)
    for place, size, count in zip(axes, sizes, counts, strict=True):
        coords, values = _in_windows(coords, values, place, size, count)
    return sorted_tensor((*shape, *sizes), coords, values, array.fill_value, of=(array,))


def _in_windows(
    coords: Sequence[Dense], values: Dense, place: int, size: int, count: int
) -> tuple[list[Dense], Dense]:
    """Each element once for each of ``count`` windows of a dimension that has it, with its place in
    the window as the last coordinate."""
    at = coords[place]
    first, last = np.maximum(at - (size - 1), 0), np.minimum(at, count - 1)
    many = np.maximum(last - first + 1, 0)
    total = int(many.sum())
    with memory_for((total, len(coords) + 2), "fewer or smaller windows", "the windows"):
        own = np.repeat(np.arange(len(at)), many)
        window = np.arange(total) - np.repeat(np.cumsum(many) - many - first, many)
        found = [window if k == place else c[own] for k, c in enumerate(coords)]
        return [*found, at[own] - window], values[own]


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.gradient: gradient, np.convolve: convolve, np.correlate: correlate,
    sliding_window_view: windows,
}  # fmt: skip
"""The function of this package for each of NumPy's."""

__all__ = ["FUNCTIONS"]
