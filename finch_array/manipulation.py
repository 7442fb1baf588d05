"""Manipulation of shapes: permuting without a copy, the rest over what is stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array import taking
from finch_array.axes import axes_of, axis_of, broadcast_shape, shape_of
from finch_array.joining import (
    Segment,
    has_structure,
    joined,
    moves_in_pieces,
    rolled,
    tiled,
)
from finch_array.leaves import relabelled
from finch_array.listed import dense_above_lists, listed
from finch_array.operands import (
    LONG,
    array_of,
    entries,
    has_gaps,
    is_dense,
    is_lazy,
    kinds_of,
    may_have_runs,
    settled,
    stored,
)
from finch_array.points import joined_points, tiled_coordinates, tiled_points
from finch_array.ready import memory_for
from finch_array.requests import Request, letters
from finch_array.rolling import rolled_places, shifts
from finch_array.run import as_seen, coordinates, materialised, run, sorted_tensor
from finch_array.runs import has_runs, reshaped, runs_of, stretched
from finch_array.sorted_coordinates import MOST_PLACES
from finch_array.units import with_units
from finch_array.written_plans import again, told
from finch_core.errors import DimensionMismatch
from finch_core.runtime.compressed import coordinate_format
from finch_core.runtime.tensor import Tensor, checked_shape
from finch_core.runtime.worth import are_few


def permute_dims(x: Any, /, axes: Sequence[int]) -> Any:
    """``x`` with its dimensions in another order, without a copy (``swizzle``).

    Raises ``DimensionMismatch`` unless ``axes`` has each dimension once.
    """
    array = x if is_lazy(x) else array_of(x)
    order = [axis_of(a, array.ndim) for a in axes]
    if sorted(order) != list(range(array.ndim)):
        raise DimensionMismatch(f"{tuple(axes)} is no permutation of {array.ndim} dimensions")
    if is_lazy(array):
        return lazy_views().permuted(array, order)
    inner = stored(array)
    return as_seen(inner.source, tuple(order.index(axis) for axis in inner.axes))


def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """``x`` with some dimensions moved to other places.

    Raises ``DimensionMismatch`` unless there is a place for each.
    """
    array = x if is_lazy(x) else array_of(x)
    given = source if isinstance(source, (tuple, list)) else (source,)
    wanted = destination if isinstance(destination, (tuple, list)) else (destination,)
    come = [axis_of(a, array.ndim) for a in given]
    go = [axis_of(a, array.ndim) for a in wanted]
    if len(come) != len(go) or len(set(come)) != len(come) or len(set(go)) != len(go):
        raise DimensionMismatch(f"axes {source} cannot move to {destination}")
    order = [k for k in range(array.ndim) if k not in come]
    for place, axis in sorted(zip(go, come, strict=True)):
        order.insert(place, axis)
    return permute_dims(array, order)


def expand_dims(x: Any, /, axis: Any = 0) -> Any:
    """``x`` with new dimensions of 1 at ``axis``, one or several, counted in the result. Raises
    ``OutOfBounds`` for an axis that the result would lack, ``FormatError``, a ``TypeError``, for
    what is no integer, as None."""
    array = x if is_lazy(x) else array_of(x)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    new = axes_of(given, array.ndim + len(given))
    shape = list(array.shape)
    for a in new:
        shape.insert(a, 1)
    return reshape(array, tuple(shape))


def squeeze(x: Any, /, axis: Any = None) -> Any:
    """``x`` without the dimensions ``axis``, which are 1 (default: all that are). Raises
    ``DimensionMismatch`` for one that is not 1."""
    array = x if is_lazy(x) else array_of(x)
    ones = tuple(k for k, n in enumerate(array.shape) if n == 1)
    gone = ones if axis is None else axes_of(axis, array.ndim)
    if any(array.shape[a] != 1 for a in gone):
        raise DimensionMismatch(f"axes {axis} of shape {array.shape} are not of size 1")
    return reshape(array, tuple(n for k, n in enumerate(array.shape) if k not in gone))


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """``x`` with its elements, in row-major order, in another shape; one size may be -1.

    Raises ``DimensionMismatch`` for a shape of another number of elements, and ``ValueError`` where
    ``copy=False`` and a copy is needed.
    """
    array = x if is_lazy(x) else array_of(x)
    wanted = _full_shape(array, shape_of(shape))
    if is_lazy(array):
        if _nontrivial(array.shape) == _nontrivial(wanted):
            return lazy_views().reshaped(array, wanted)
        array = array_of(array)
    if is_dense(array):
        seen = array.to_numpy()
        found = seen.reshape(wanted, copy=copy)
        return array_of(found)
    if copy is False:
        raise ValueError("reshape needs a copy of an array that is not dense")
    if wanted == array.shape and copy is None:
        return array
    if not wanted or not array.ndim:
        return array_of(np.asarray(array.to_numpy().reshape(wanted)))
    if _nontrivial(array.shape) == _nontrivial(wanted):
        made = with_units(array, wanted)
        if made is None and moves_in_pieces(array):
            made = _without_units(array, wanted)
        if made is not None:
            return made
    if has_runs(array):
        check_size(wanted)
        return reshaped(runs_of(array), wanted)
    _, coords, values = coordinates(array)
    return _placed(array, wanted, coords, values)


def _without_units(array: Any, wanted: Sequence[int]) -> Any:
    """``array`` in another shape that differs in dimensions of size 1: those that it has are cut
    out by a kernel, which keeps the structure of the others."""
    others = [slice(None) if n != 1 else 0 for n in array.shape]
    return with_units(array[tuple(others)], wanted) if slice(None) in others else None


def check_size(shape: tuple[int, ...]) -> None:
    """Raise ``DimensionMismatch`` for a shape of more elements than an index tells apart."""
    if math.prod(shape) > MOST_PLACES:
        raise DimensionMismatch(f"{shape} has more elements than an index can tell apart")


def _placed(array: Any, wanted: tuple[int, ...], coords: list[Any], values: Any) -> Any:
    if _nontrivial(array.shape) == _nontrivial(wanted):
        kept = [c for c, n in zip(coords, array.shape, strict=True) if n != 1]
        rest = iter(kept)
        none = np.zeros(len(values), np.intp)
        found: Any = [none if n == 1 else next(rest) for n in wanted]
    else:
        check_size(wanted)
        found = unraveled(np.ravel_multi_index(tuple(coords), array.shape), wanted)
    in_order = array.__class__ is Tensor
    return sorted_tensor(wanted, found, values, array.fill_value, of=(array,), in_order=in_order)


def unraveled(places: Any, shape: tuple[int, ...]) -> Sequence[Any]:
    """The coordinates of elements that are numbered in row-major order."""
    return (places,) if len(shape) == 1 else np.unravel_index(places, shape)


def _nontrivial(shape: tuple[int, ...]) -> list[int]:
    return [n for n in shape if n != 1]


def _full_shape(array: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    total = math.prod(array.shape)
    if shape.count(-1) == 1:
        rest = -math.prod(shape)
        if rest > 0 and total % rest == 0:
            shape = tuple(total // rest if n == -1 else n for n in shape)
    if min(shape, default=0) < 0 or math.prod(shape) != total:
        raise DimensionMismatch(f"an array of shape {array.shape} cannot be reshaped to {shape}")
    return shape


def transpose_method(x: Any, *axes: Any) -> Any:
    """``x.transpose()``, with the axes, if given, as arguments or as one sequence."""
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return permute_dims(x, given or tuple(reversed(range(x.ndim))))


def transpose(x: Any, /, axes: Any = None) -> Any:
    """``x`` with its axes in another order, that of ``axes``: in reverse, if none are given."""
    return transpose_method(x, *(() if axes is None else (axes,)))


# -- broadcasting -----------------------------------------------------------------------------


def broadcast_to(x: Any, /, shape: Any) -> Any:
    """``x`` repeated to a shape: dimensions that it lacks are stored as one run.

    Raises ``DimensionMismatch`` for a shape that it cannot be repeated to.
    """
    array, wanted = x if is_lazy(x) else array_of(x), shape_of(shape)
    if array.shape == wanted:
        return array
    key, own, lacking = _stretched(array.shape, wanted)
    if array.ndim == 0 or is_dense(array):
        return array_of(np.ascontiguousarray(np.broadcast_to(array.to_numpy(), wanted)))

    def request() -> Request:
        sizes = dict.fromkeys(lacking, 0)
        return Request("broadcast_to", lambda x: x, (own,), letters(len(wanted)), sizes=sizes)

    return run(key, request, [array], lacking)


@lru_cache(maxsize=4096)
def _stretched(shape: tuple[int, ...], wanted: tuple[int, ...]) -> Any:
    """The key of requests that repeat an array of this shape, the indices of the array, and the
    sizes of those that it lacks. Raises ``DimensionMismatch`` where it cannot be repeated."""
    if broadcast_shape(shape, wanted) != wanted:
        raise DimensionMismatch(f"an array of shape {shape} cannot be broadcast to {wanted}")
    names, first = letters(len(wanted)), len(wanted) - len(shape)
    shorter = tuple([n == 1 != w for n, w in zip(shape, wanted[first:], strict=True)])
    lacking = {
        name: size
        for k, (name, size) in enumerate(zip(names, wanted, strict=True))
        if k < first or shorter[k - first]
    }
    key = ("broadcast_to", len(shape), len(wanted), shorter)
    return key, letters(len(shape), len(wanted)), lacking


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape to which these broadcast. Raises ``DimensionMismatch`` if they do not."""
    return broadcast_shape(*map(shape_of, shapes))


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """The arrays, each broadcast to the shape of all."""
    given = [array_of(x) for x in arrays]
    shape = broadcast_shape(*(x.shape for x in given))
    return tuple(broadcast_to(x, shape) for x in given)


# -- joining ----------------------------------------------------------------------------------


def concat(arrays: Sequence[Any], /, axis: int | None = 0) -> Any:
    """The arrays one after another along ``axis`` (None: flattened). Raises ``DimensionMismatch``
    where the other dimensions disagree, and ``IndexOverflow`` for a result that is too long."""
    given = [array_of(x) for x in arrays]
    if not given:
        raise ValueError("concat needs at least one array")
    key = told("concat", given, axis)
    if key is not None and (found := again(key, given)) is not None:
        return found
    if axis is None:
        given, axis, key = [reshape(x, (-1,)) for x in given], 0, None
    place = axis_of(axis, given[0].ndim)
    _check_joined(given, place)
    dtype = np.result_type(*[x.dtype for x in given])
    if all(map(is_dense, given)):
        return array_of(np.concatenate([x.to_numpy() for x in given], axis=place))
    return _joined(given, place, dtype, key)


def _check_joined(given: list[Any], place: int) -> None:
    shapes = [x.shape for x in given]
    others = {shape[:place] + shape[place + 1 :] for shape in shapes}
    if len(others) > 1 or len(set(map(len, shapes))) > 1:
        told = ", ".join(map(str, shapes))
        raise DimensionMismatch(f"arrays of shapes {told} cannot be joined along axis {place}")


def _joined(given: list[Any], place: int, dtype: Any, key: Any, new: bool = False) -> Any:
    """The arrays one after another along a dimension, or each at an index of a ``new`` one; ``key``
    is that of the call."""
    sparse = [x for x in given if not is_dense(x)]
    fill = np.asarray(sparse[0].fill_value, dtype)[()]
    first = given[0].shape
    length = len(given) if new else sum([x.shape[place] for x in given])
    shape = checked_shape((*first[:place], length, *first[place + (not new) :]), len(first) + new)
    if any(_is_joined_as_stored(x, fill) for x in sparse):
        if len(given) == 1 and not new:
            return fn.copied(given[0])
        if new:
            return joined([Segment(x, 0, 1) for x in given], place, dtype, fill, new, key)
        return joined([Segment.whole(x, place) for x in given], place, dtype, fill, key=key)
    if len(sparse) == len(given) and not any(map(has_structure, given)):
        return joined_points(given, place, dtype, fill, new, key)
    parts, values, start = [], [], 0
    for k, x in enumerate(given):
        array = x if x.dtype == dtype or not is_dense(x) else fn.cast(x, dtype)
        _, coords, found = coordinates(with_fill(array, fill))
        if new:
            coords.insert(place, np.empty(len(found), np.intp))
            coords[place].fill(k)
        elif start:
            coords[place] += start
        parts.append(coords)
        values.append(found if found.dtype == dtype else found.astype(dtype))
        start += 0 if new else array.shape[place]
    coords = [np.concatenate(column) for column in zip(*parts, strict=True)]
    in_order = place == 0 and all(x.__class__ is Tensor for x in given)
    return sorted_tensor(shape, coords, np.concatenate(values), fill, of=sparse, in_order=in_order)


def _is_joined_as_stored(array: Any, fill: Any) -> bool:
    """Whether the coordinates of an array would lose how it is stored, or have all its elements, in
    an array with this fill."""
    return moves_in_pieces(array) or (has_gaps(array) and not _alike(array.fill_value, fill))


def with_fill(array: Any, fill: Any) -> Any:
    """``array`` with the same values and another fill: a sparse one stores its former fill."""
    array = settled(array)
    if _alike(array.fill_value, fill):
        return array
    if is_dense(array):
        found = stored(array)
        own = np.asarray(fill).astype(array.dtype)[()]
        if not _alike(own, fill):
            return array
        source = found.source if isinstance(found.source, Tensor) else materialised(found.source)
        return as_seen(relabelled(source, own), found.axes)
    dtype = np.result_type(array.dtype, np.asarray(fill).dtype)
    return Tensor(coordinate_format(array.ndim, fill, dtype), array)


def _alike(fill: Any, other: Any) -> bool:
    return bool(fill == other) or bool(fill != fill and other != other)


def stack(arrays: Sequence[Any], /, axis: int = 0) -> Any:
    """The arrays, of one shape, along a new dimension.

    Raises ``DimensionMismatch`` for none, or for arrays of several shapes.
    """
    given = [array_of(x) for x in arrays]
    key = told("stack", given, axis)
    if key is not None and (found := again(key, given)) is not None:
        return found
    if len({x.shape for x in given}) != 1:
        raise DimensionMismatch(
            f"arrays of shapes {', '.join(str(x.shape) for x in given)} cannot be stacked"
        )
    place = axis_of(axis, given[0].ndim + 1)
    if not given[0].ndim or all(map(is_dense, given)):
        return concat([expand_dims(x, axis=axis) for x in given], axis=place)
    return _joined(given, place, np.result_type(*[x.dtype for x in given]), key, new=True)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The subarrays along ``axis``: a tuple of arrays with one dimension less. Raises
    ``OutOfBounds`` for an axis that ``x`` lacks."""
    array = array_of(x)
    if axis_of(axis, array.ndim):
        array = moveaxis(array, axis, 0)
    shape, rest = array.shape, (slice(None),) * (array.ndim - 1)
    if array.__class__ is not Tensor or not rest or is_dense(array):
        return tuple([array[(k, ...)] for k in range(shape[0])])
    from finch_array.indexing import cut_of

    return tuple([cut_of(array, (k, *rest), shape) for k in range(shape[0])])


# -- moving elements --------------------------------------------------------------------------


def flip(x: Any, /, axis: Any = None) -> Any:
    """``x`` with the order of its elements reversed along ``axis`` (an integer, several, or None:
    all). Raises ``OutOfBounds`` for an axis that ``x`` lacks."""
    array = array_of(x)
    axes = axes_of(axis, array.ndim)
    if is_dense(array):
        return array_of(np.flip(array.to_numpy(), axes).copy())
    index = tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(array.ndim))
    return array[index]


def roll(x: Any, /, shift: Any, axis: Any = None) -> Any:
    """``x`` with its elements moved along ``axis`` (None: in the flattened array); those that leave
    come in at the other end. Raises ``OutOfBounds`` for an axis that ``x`` lacks."""
    array = array_of(x)
    if axis is None and (is_dense(array) or not array.ndim or has_runs(array)):
        return reshape(roll(reshape(array, (-1,)), shift, axis=0), array.shape)
    by = shifts(shift, 0, 1) if axis is None else shifts(shift, axis, array.ndim)
    if is_dense(array):
        return array_of(np.roll(array.to_numpy(), by, range(array.ndim)))
    if len(by) == array.ndim and moves_in_pieces(array):
        return rolled(array, by) if any(by) else fn.copied(array)
    format = array.format if array.__class__ is Tensor else None
    if axis is None or format is None or dense_above_lists(format) is None:
        format = None
    elif not are_few(("roll", array.signature), entries(array)):
        return _rolled_lists(array, by)
    shape, coords, values = coordinates(array)
    if axis is None:
        check_size(shape)
        places = np.ravel_multi_index(tuple(coords), shape)
        coords = list(unraveled(rolled_places(places, by[0], math.prod(shape)), shape))
    else:
        coords = [
            rolled_places(c, k, n) if k else c for c, k, n in zip(coords, by, shape, strict=True)
        ]
    if format is not None:
        return listed(format, shape, coords, values)
    return sorted_tensor(shape, coords, values, array.fill_value, of=(array,))


def _rolled_lists(array: Any, by: Sequence[int]) -> Any:
    """``array`` with its elements moved so far along each dimension, as two pieces."""
    found = array
    for place, k in enumerate(by):
        first = -k % max(1, array.shape[place])
        if first:
            before = (slice(None),) * place
            pieces = [found[(*before, slice(first, None))], found[(*before, slice(first))]]
            found = concat(pieces, axis=place)
    return fn.copied(array) if found is array else found


def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> Any:
    """Each element along ``axis`` (None: of the flattened array) repeated, ``repeats`` times or by
    an array of numbers. Raises ``OutOfBounds`` for an axis that ``x`` lacks, ``ValueError`` for a
    negative number, and ``IndexOverflow`` for a result that is too long."""
    array = array_of(x)
    if axis is None:
        array, axis = reshape(array, (-1,)), 0
    place = axis_of(axis, array.ndim)
    counts = np.asarray(array_of(repeats).to_numpy() if hasattr(repeats, "signature") else repeats)
    if is_dense(array):
        return array_of(np.repeat(array.to_numpy(), counts, place))
    if _is_number(counts) and place == array.ndim - 1 and has_runs(array):
        return stretched(runs_of(array), int(counts.flat[0]))
    length = array.shape[place]
    if _is_number(counts) and not has_structure(array):
        times = int(counts.flat[0])
        checked_shape((*array.shape[:place], length * times, *array.shape[place + 1 :]), array.ndim)
        return taking.repeated(array, times, place)
    if _is_number(counts) and length > LONG and not may_have_runs(array):
        lists = sorted_tensor(*coordinates(array), array.fill_value, of=(array,))
        found = repeat(lists, counts, axis=place)
        many = array.__class__ is Tensor and not any(kind.single for kind in kinds_of(array))
        return Tensor(array.format, found) if many else found
    from finch_array.indexing import take

    with memory_for((length,), "lists take what is stored", "the indices"):
        return take(array, np.repeat(np.arange(length), counts), axis=place)


def _is_number(counts: Any) -> bool:
    """Whether all elements are repeated as often: a number of times."""
    return bool(counts.size == 1 and counts.dtype.kind in "iu" and counts.flat[0] >= 0)


def tile(x: Any, repetitions: Any, /) -> Any:
    """``x`` repeated as a whole along each dimension: a number of repetitions for each, or for the
    last ones. Raises ``ValueError`` for a negative one."""
    array, times = array_of(x), shape_of(repetitions)
    if min(times, default=0) < 0:
        raise ValueError(f"repetitions are not negative, as {times} is")
    ndim = max(array.ndim, len(times))
    array = reshape(array, (1,) * (ndim - array.ndim) + array.shape)
    times = (1,) * (ndim - len(times)) + times
    if all(n == 1 for n in times):
        return fn.copied(array)
    if min(times) > 0 and not is_dense(array):
        if not has_structure(array):
            return tiled_points(array, times)
        return (tiled if moves_in_pieces(array) else _tiled)(array, times)
    for axis, n in enumerate(times):
        if n != 1:
            array = (
                concat([array] * n, axis=axis)
                if n
                else array[(slice(None),) * axis + (slice(0, 0),)]
            )
    return array


def _tiled(array: Any, times: Sequence[int]) -> Any:
    """A sparse array repeated along each dimension, once at least."""
    full = checked_shape([m * n for m, n in zip(array.shape, times, strict=True)], array.ndim)
    coords, values = tiled_coordinates(array, times)
    return sorted_tensor(full, coords, values, array.fill_value, of=(array,))


def atleast_nd(x: Any, ndim: int) -> Any:
    """``x`` with dimensions of 1 in front, up to ``ndim`` of them."""
    array = array_of(x)
    return reshape(array, (1,) * (ndim - array.ndim) + array.shape)


def lazy_views() -> Any:
    """The functions that read lazy arrays at other indices."""
    from finch_array.plan import views

    return views
