"""Searching, sorting, sets, and statistics over the coordinates of what is stored.

Along an axis each fiber has its stored elements and a number of fills; a result is made of the
sorted stored ones and the place of the fill among them.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from finch_array.axes import axis_of
from finch_array.fibers import (
    fibers,
    first_extreme,
    first_extremes,
    of_fibers,
    sorted_fibers,
    top_of_fibers,
)
from finch_array.functions import FUNCTIONS
from finch_array.indexing import true_places, view_of
from finch_array.joining import has_structure
from finch_array.leaves import maker
from finch_array.manipulation import broadcast_to, check_size, concat, expand_dims, reshape
from finch_array.operands import array_of, is_dense, settled, stored
from finch_array.ready import warn_dense
from finch_array.reductions import array_operand
from finch_array.run import (
    SPARE,
    as_seen,
    coordinates,
    materialised,
    sorted_tensor,
    stored_elements,
)
from finch_array.runs import has_runs, runs_of
from finch_array.sorted_coordinates import FEW, keys_of
from finch_core.errors import DimensionMismatch
from finch_core.runtime.lists import chosen_of_lists
from finch_core.runtime.tensor import Tensor

# -- searching --------------------------------------------------------------------------------


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The coordinates of the elements that are not 0, one array for each dimension, in row-major
    order.

    Raises ``DimensionMismatch`` for an array without dimensions.
    """
    return tuple([array_of(np.ascontiguousarray(c)) for c in _places(x)])


def _places(x: Any) -> list[Any]:
    array = array_of(x)
    if array.ndim == 0:
        raise DimensionMismatch("nonzero of an array without dimensions")
    return true_places(array)


def argwhere(x: Any, /) -> Any:
    """The coordinates of the elements that are not 0, as the rows of a matrix of int64."""
    places = _places(x)
    found = np.empty((len(places[0]), len(places)), np.int64)
    for k, c in enumerate(places):
        found[:, k] = c
    return array_of(found)


def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The index, an int64, of the first greatest element along ``axis`` (None: in the flattened
    array); of the first NaN if there is one. Along an axis, of few stored elements, the result is
    sparse: its fill is 0. Raises ``OutOfBounds`` for an axis that ``x`` lacks,
    ``DimensionMismatch`` for more elements, or fibers, than an index tells apart, ``ValueError``
    where there are no elements, and ``TypeError`` for complex numbers."""
    return _arg_extreme(x, axis, keepdims, True)


def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The index, an int64, of the first least element along ``axis`` (None: in the flattened
    array); of the first NaN if there is one. Results and errors are those of ``argmax``."""
    return _arg_extreme(x, axis, keepdims, False)


def _arg_extreme(x: Any, axis: int | None, keepdims: bool, greatest: bool) -> Any:
    array = array_operand(x)
    if array.dtype.kind == "c":
        raise TypeError("complex numbers have no order")
    ndim = array.ndim
    place = 0 if axis is None else axis_of(axis, ndim)
    if (array.size if axis is None else array.shape[place]) == 0:
        raise ValueError(f"{'argmax' if greatest else 'argmin'} of no elements")
    found: Any
    if is_dense(array) or not ndim:
        found = (np.argmax if greatest else np.argmin)(array.to_numpy(), axis=axis)
    elif axis is None:
        check_size(array.shape)
        found = first_extreme(array, greatest)
    else:
        found = first_extremes(fibers(array, place), greatest, array)
    result = found if found.__class__ is Tensor else array_of(np.asarray(found, np.intp))
    if not keepdims:
        return result
    if axis is None:
        return reshape(result, (1,) * ndim)
    return expand_dims(result, axis=place)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Where to insert the elements of ``x2`` into the sorted vector ``x1``: int64, in the shape and
    the levels of ``x2``. Raises ``DimensionMismatch`` unless ``x1`` is a vector."""
    given, sought = settled(array_operand(x1)), settled(array_operand(x2))
    if given.ndim != 1:
        raise DimensionMismatch(f"searchsorted in an array of shape {given.shape}: not a vector")
    order = None if sorter is None else array_operand(sorter).to_numpy()
    if order is None and not is_dense(given):
        _, _, keys = coordinates(given)
        absent, fill = given.shape[0] - len(keys), np.asarray([given.fill_value])

        def places(x: Any) -> Any:
            here = np.searchsorted(keys, x, side)  # type: ignore[call-overload]
            return here + absent * np.searchsorted(fill, x, side)  # type: ignore[call-overload]

    else:
        keys = given.to_numpy()

        def places(x: Any) -> Any:
            return np.searchsorted(keys, x, side, order)  # type: ignore[call-overload]

    return mapped(sought, places)


def mapped(array: Any, function: Callable[[Any], Any]) -> Any:
    """``array`` with ``function``, which works element by element on NumPy arrays, applied to the
    stored values and to the fill: an array of the same levels."""
    if is_dense(array):
        return array_of(np.asarray(function(array.to_numpy())))
    inner = stored(settled(array))
    source = inner.source if isinstance(inner.source, Tensor) else materialised(inner.source)
    (fill,) = function(np.asarray([source.fill_value], source.dtype))
    number = source.layout.values
    if number is None:
        shape, coords, values = coordinates(array)
        return sorted_tensor(shape, coords, function(values), fill, of=(array,))
    arrays = [part.copy() for part in source.arrays]
    arrays[number] = function(source.arrays[number])
    made: Tensor = maker(source.format, fill, fill.dtype)(source.record, arrays)
    return as_seen(made, inner.axes)


# -- sorting ----------------------------------------------------------------------------------


def sort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """``x`` sorted along ``axis``, of its shape and dtype; NaN last, or first where ``descending``.
    Raises ``OutOfBounds`` for an axis that ``x`` lacks."""
    array = array_of(x)
    place = axis_of(axis, array.ndim)
    if is_dense(array):
        found = _sorted_along(array.to_numpy(), place)
        return array_of(np.ascontiguousarray(np.flip(found, place)) if descending else found)
    return of_fibers(sorted_fibers(fibers(array, place), descending), place, of=(array,))


def _sorted_along(array: Any, axis: int) -> Any:
    """An array of NumPy sorted. Equal elements are told apart where they are zeros of both signs,
    or parts of complex numbers; otherwise any sort will do, and NumPy's quickest is vectorised."""
    apart = array.dtype.kind not in "biuf"
    if array.dtype.kind == "f":
        apart = bool(np.signbit(array[array == 0]).any())
    return np.sort(array, axis=axis, kind="stable" if apart else None)


def argsort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """The indices that sort ``x`` along ``axis``: int64, of the shape of ``x``, every one, so that
    the result is dense. Raises ``OutOfBounds`` for an axis that ``x`` lacks."""
    given = array_of(x)
    if not is_dense(given):
        hint = "top_k and sort take time and memory for what is stored"
        warn_dense("argsort", given.shape, np.intp, [given], hint)
    array = given.to_numpy()
    axis = axis_of(axis, array.ndim or 1)
    if not descending:
        return array_of(np.argsort(array, axis=axis, kind="stable"))
    flipped = np.argsort(np.flip(array, axis), axis=axis, kind="stable")
    n = array.shape[axis]
    return array_of(np.ascontiguousarray(n - 1 - np.flip(flipped, axis)))


def top_k(x: Any, k: int, /, *, axis: int = -1, mode: str = "largest") -> tuple[Any, Any]:
    """The ``k`` largest or smallest elements along ``axis``, in order, and their indices, as int64:
    sparse where few elements are stored, with the indices in runs, otherwise dense.
    Raises ``OutOfBounds`` for an axis that ``x`` lacks, and ``ValueError`` for another ``mode``, or
    for a ``k`` that is not from 0 to the number of elements."""
    if mode not in ("largest", "smallest"):
        raise ValueError(f"mode is 'largest' or 'smallest', not {mode!r}")
    array = array_of(x)
    length = array.shape[axis_of(axis, array.ndim)]
    if not 0 <= k <= length:
        raise ValueError(f"there are {length} elements along axis {axis}, and k is {k}")
    if array.size <= SPARE:
        array = array_of(array.to_numpy())
    elif not is_dense(array):
        place = axis_of(axis, array.ndim)
        found = top_of_fibers(fibers(array, place), k, mode == "largest", place, array)
        top, places = (
            array_of(np.ascontiguousarray(x)) if x.__class__ is np.ndarray else x for x in found
        )
        return top, places
    order = argsort(array, axis=axis, descending=mode == "largest").to_numpy()
    place = axis_of(axis, array.ndim)
    chosen = np.ascontiguousarray(order[(*[slice(None)] * place, slice(k))])
    top = np.take_along_axis(array.to_numpy(), chosen, place)
    return array_of(top), array_of(chosen)


# -- sets -------------------------------------------------------------------------------------

UniqueAll = namedtuple("UniqueAll", ["values", "indices", "inverse_indices", "counts"])
UniqueCounts = namedtuple("UniqueCounts", ["values", "counts"])
UniqueInverse = namedtuple("UniqueInverse", ["values", "inverse_indices"])


def unique_values(x: Any, /) -> Any:
    """The distinct elements, sorted; each NaN by itself. Raises as ``unique_counts``."""
    return unique_counts(x).values


def unique_counts(x: Any, /) -> Any:
    """The distinct elements, sorted, and how often each occurs. Raises ``DimensionMismatch`` for an
    array of more elements than can be counted."""
    array = array_operand(x)
    if is_dense(array) or array.ndim == 0:
        values, counts = np.unique(array.to_numpy(), return_counts=True, equal_nan=False)
        return UniqueCounts(array_of(values), array_of(counts))
    found, many, missing = counted(array)
    if many is None:
        values, counts = np.unique(found, return_counts=True, equal_nan=False)
    else:
        values, place = np.unique(found, return_inverse=True)
        counts = np.zeros(len(values), np.intp)
        np.add.at(counts, place, many)
    fill = array.fill_value
    if missing and fill == fill:
        at = int(values.searchsorted(fill))
        if at < len(values) and values[at] == fill:
            counts[at] += missing
        else:
            values = np.concatenate([values[:at], [fill], values[at:]], dtype=values.dtype)
            counts = np.concatenate([counts[:at], [missing], counts[at:]])
    elif missing:
        values = np.append(values, np.full(missing, fill))
        counts = np.append(counts, np.ones(missing, counts.dtype))
    return UniqueCounts(array_of(values), array_of(counts))


def counted(array: Any) -> tuple[Any, Any, int]:
    """The stored elements other than padding, which are only read, how often each is in turn, if
    not once, and how many are not stored. A run is one element, unless there are NaN, which differ
    from each other. Raises ``DimensionMismatch`` for more elements than can be counted."""
    array = settled(array)
    found = many = None
    if has_runs(array):
        runs = runs_of(array)
        if not (runs.values != runs.values).any():
            found, many = runs.values, runs.stops - runs.starts
    if found is None:
        found = stored_elements(array)
    missing = array.size - (len(found) if many is None else int(many.sum()))
    if missing > np.iinfo(np.intp).max:
        raise DimensionMismatch(f"an array of shape {array.shape} has too many elements to count")
    return found, many, missing


def unique_inverse(x: Any, /) -> Any:
    """The distinct elements, sorted, and for each element which of them it is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_all(x: Any, /) -> Any:
    """The distinct elements, sorted, where each is first, which of them each element is, and how
    often each occurs. The inverse is sparse where ``x`` is: its fill says which element the fill
    of ``x`` is. Raises ``DimensionMismatch`` for more elements than an index tells apart, and
    ``OutOfMemory`` where the fill is NaN, as each NaN is an element by itself."""
    return unique_parts(array_operand(x), False)


def unique_parts(array: Any, equal_nan: bool) -> Any:
    """``unique_all`` of an array; all NaN are one element where ``equal_nan``. Where each is by
    itself, an array with the fill NaN has dense results, with a ``PerformanceWarning``."""
    fill = array.fill_value
    if not is_dense(array) and array.ndim and (equal_nan or fill == fill) and array.size:
        return _unique_of_sparse(array, equal_nan)
    if not is_dense(array) and array.ndim:
        hint = "np.unique takes all NaN as one, and memory for what is stored"
        warn_dense("unique", array.shape, array.dtype, [array], hint)
    values, index, inverse, counts = np.unique(
        array.to_numpy(),
        return_index=True,
        return_inverse=True,
        return_counts=True,
        equal_nan=equal_nan,
    )
    parts = (values, index, inverse.reshape(array.shape), counts)
    return UniqueAll(*(array_of(np.asarray(part)) for part in parts))


def _unique_of_sparse(array: Any, equal_nan: bool) -> Any:
    """``unique_parts`` from the stored elements, and the fill as one more, after all of them."""
    check_size(array.shape)
    shape, coords, found = coordinates(array)
    place = keys_of(shape, coords)
    order = np.argsort(place, kind="stable")
    place, coords, found = place[order], [c[order] for c in coords], found[order]
    missing = array.size - len(found)
    gap = _first_gap(place)
    with_fill = np.append(found, array.fill_value) if missing else found
    values, inverse, counts = np.unique(
        with_fill, return_inverse=True, return_counts=True, equal_nan=equal_nan
    )
    inverse = inverse.reshape(-1)
    where = np.append(place, gap) if missing else place
    first = np.full(len(values), array.size, np.intp)
    np.minimum.at(first, inverse, where)
    fill = inverse[-1] if missing else inverse[0]
    counts[fill] += max(missing - 1, 0)
    inner = inverse[: len(found)]
    kept = inner != fill
    numbers = sorted_tensor(
        shape, [c[kept] for c in coords], inner[kept], np.intp(fill), of=(array,)
    )
    return UniqueAll(array_of(values), array_of(first), numbers, array_of(counts))


def _first_gap(place: Any) -> int:
    """The first number that is not among sorted ones."""
    broken = np.flatnonzero(place != np.arange(len(place)))
    return int(broken[0]) if len(broken) else len(place)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Whether each element of ``x1`` is one of ``x2`` (``invert``: is not): bools in the shape of
    ``x1``."""
    array, wanted = array_operand(x1), _sorted(x2)
    if is_dense(array) or array.ndim == 0:
        return array_of(np.asarray(np.isin(array.to_numpy(), wanted, invert=invert)))
    if has_structure(array):
        return mapped(array, lambda values: np.isin(values, wanted, invert=invert))
    fill = bool(_among(np.asarray([array.fill_value]), wanted)[0])
    coords, found = _chosen(array, lambda values: _among(values, wanted) != fill)
    bools = np.full(len(found), invert == fill)
    return sorted_tensor(
        array.shape, coords, bools, np.bool_(invert != fill),
        of=(array,), in_order=array.__class__ is Tensor,
    )  # fmt: skip


def _chosen(array: Any, function: Callable[[Any], Any]) -> tuple[list[Any], Any]:
    """The indices, and the values, of the stored elements for which ``function`` of all values
    holds."""
    found = chosen_of_lists(array, function)
    if found is not None:
        return found
    _, coords, values = coordinates(array, shared=True)
    (kept,) = function(values).nonzero()
    return [c[kept] for c in coords], values[kept]


def _sorted(x: Any) -> Any:
    """The elements of an array, sorted; each once where it is sparse."""
    array = array_operand(x)
    return np.sort(array.to_numpy(), axis=None) if is_dense(array) else unique_values(x).to_numpy()


def _among(values: Any, wanted: Any) -> Any:
    """Which values are among sorted ones."""
    plain = values.dtype == wanted.dtype and values.dtype.kind in "biuf"
    if not plain or not len(wanted) or len(values) > FEW:
        return np.isin(values, wanted)
    return wanted[np.minimum(wanted.searchsorted(values), len(wanted) - 1)] == values


# -- statistics -------------------------------------------------------------------------------


def diff(x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along ``axis``, ``n`` times over, which takes as many elements
    away; ``x`` itself for ``n`` of 0. ``prepend`` and ``append`` are arrays, or numbers, that are
    joined to ``x`` before. Raises
    ``OutOfBounds`` for an axis that ``x`` lacks, ``ValueError`` for a negative ``n``."""
    if n < 0:
        raise ValueError(f"differences are taken 0 times or more, not {n}")
    array = array_of(x)
    place = axis_of(axis, array.ndim)
    if n == 0:
        return array
    across = tuple(1 if k == place else size for k, size in enumerate(array.shape))

    def end(part: Any) -> list[Any]:
        joined = [] if part is None else [array_of(part)]
        return [each if each.ndim else broadcast_to(each, across) for each in joined]

    parts = [*end(prepend), array, *end(append)]
    array = concat(parts, axis=place) if len(parts) > 1 else array
    subtract = FUNCTIONS["not_equal" if array.dtype.kind == "b" else "subtract"]
    for _ in range(n):
        array = subtract(*_neighbours(array, place))
    return array


def _neighbours(array: Any, place: int) -> tuple[Any, Any]:
    """The elements along a dimension but the first, and but the last: views of a sparse tensor."""
    before = (slice(None),) * place
    later, sooner = (*before, slice(1, None)), (*before, slice(None, -1))
    if array.__class__ is not Tensor or is_dense(array):
        return array[later], array[sooner]
    shape, rest = array.shape, (slice(None),) * (array.ndim - place - 1)
    return view_of(array, later + rest, shape), view_of(array, sooner + rest, shape)
