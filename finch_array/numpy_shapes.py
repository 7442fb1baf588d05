"""Functions of NumPy that join arrays, turn them or choose parts of them, on tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array.axes import axes_of, axis_of, shape_of
from finch_array.creation import open_grid
from finch_array.indexing import getitem, take
from finch_array.insertions import (
    BY_INDEX,
    inserted,
    insertion_places,
    moves_by_coordinates,
    put_between,
)
from finch_array.joining import Segment, joined
from finch_array.leaves import same
from finch_array.manipulation import (
    atleast_nd,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    stack,
)
from finch_array.operands import NUMBERS, array_of, in_numpy, is_dense
from finch_array.ready import memory_for, warn_dense, warn_many
from finch_array.run import coordinates
from finch_array.searching import nonzero
from finch_array.wide_numbers import check_range
from finch_core.errors import DimensionMismatch

# -- joining ----------------------------------------------------------------------------------


def concatenate(
    arrays: Sequence[Any], axis: int | None = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """The arrays one after another along ``axis``, as ``dtype`` if one is given. Raises
    ``TypeError`` where ``casting`` does not allow that."""
    return _as_dtype(concat(arrays, axis=axis), dtype, casting)


def _as_dtype(found: Any, dtype: Any, casting: str) -> Any:
    if dtype is None:
        return found
    if not np.can_cast(found.dtype, dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"arrays of {found.dtype} are not cast to {np.dtype(dtype)} under the rule "
            f"{casting!r}: casting='unsafe' does"
        )
    return fn.cast(found, dtype)


def stacked(
    arrays: Sequence[Any], axis: int = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """The arrays, of one shape, along a new dimension, as ``dtype`` if one is given. Raises
    ``TypeError`` where ``casting`` does not allow that."""
    return _as_dtype(stack(arrays, axis=axis), dtype, casting)


def _joined(arrays: Sequence[Any], axis: int, ndim: int, **options: Any) -> Any:
    return concatenate([atleast(ndim)(x) for x in arrays], axis, **options)


def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays below one another; a vector is a row."""
    return _joined(tup, 0, 2, dtype=dtype, casting=casting)


def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays beside one another; vectors one after another."""
    given = [atleast(1)(x) for x in tup]
    return _joined(given, int(given[0].ndim > 1), 1, dtype=dtype, casting=casting)


def dstack(tup: Sequence[Any]) -> Any:
    """Arrays along the third dimension."""
    return _joined(tup, 2, 3)


def column_stack(tup: Sequence[Any]) -> Any:
    """Vectors as columns, beside matrices."""
    given = [array_of(x) for x in tup]
    return concat([reshape(x, (-1, 1)) if x.ndim < 2 else x for x in given], axis=1)


def block(arrays: Any) -> Any:
    """An array of nested lists of blocks: the innermost lists are joined along the last dimension,
    those around them along the one before. Raises ``ValueError`` for an empty list, and for blocks
    that are not all in as many lists."""
    if not isinstance(arrays, list):
        return fn.copied(array_of(arrays))
    depth = _depth(arrays)
    ndim = max(depth, *(array_of(x).ndim for x in _leaves(arrays)))
    return _block(arrays, depth, ndim)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinate matrices of vectors (see ``fa.meshgrid``), each with memory of its own unless
    ``copy=False``; ``sparse``: vectors that broadcast to them."""
    thin, shape = open_grid(xi, indexing)
    found = thin if sparse or len(shape) < 2 else [broadcast_to(x, shape) for x in thin]
    pairs = zip(found, thin, strict=True)  # what is broadcast to more elements is a copy
    return tuple([fn.copied(x) if copy and x.size == one.size else x for x, one in pairs])


def _block(arrays: Any, depth: int, ndim: int) -> Any:
    if not isinstance(arrays, list):
        return atleast_nd(array_of(arrays), ndim)
    return concat([_block(x, depth - 1, ndim) for x in arrays], axis=ndim - depth)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(x) for x in arrays}
    if not depths:
        raise ValueError("np.block of a list without arrays: leave it out")
    if len(depths) > 1:
        raise ValueError(
            f"np.block of a list of blocks in {min(depths)} and in {max(depths)} more lists: put "
            "each into as many"
        )
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Any]:
    return [y for x in arrays for y in _leaves(x)] if isinstance(arrays, list) else [arrays]


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """``values`` after ``arr``, along ``axis`` (None: of all elements, in a row)."""
    return concat([array_of(arr), array_of(values)], axis=axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """``arr`` with ``values`` before the indices ``obj`` along ``axis`` (None: of all elements, in
    a row), in the dtype of ``arr``: values equal to the fill take nothing where it is sparse.
    Raises ``DimensionMismatch`` for values of another shape, ``OutOfBounds``, and ``OutOfMemory``
    for more values than there is memory for."""
    array, obj = array_of(arr), in_numpy(obj)
    if axis is None:
        array, axis = reshape(array, (-1,)), 0
    axis = axis_of(axis, array.ndim)
    n, places = array.shape[axis], np.asarray(obj)
    if isinstance(values, (int, list, tuple)):
        check_range(array.dtype, np.asarray(values, object).ravel().tolist())
    new = fn.cast(array_of(values), array.dtype)
    new = atleast_nd(new, max(array.ndim, new.ndim))
    if not isinstance(obj, slice) and not places.ndim:
        new = moveaxis(new, 0, axis)
    at = insertion_places(obj, n, new.shape[axis])
    if moves_by_coordinates(array):
        return inserted(array, new, at, axis)
    if new.size == 1 and not is_dense(array):
        part = Segment(new.to_numpy().reshape(())[()], 0, len(at))
        whole = joined([Segment.whole(array, axis), part], axis, array.dtype, array.fill_value)
    else:
        wanted = (*array.shape[:axis], len(at), *array.shape[axis + 1 :])
        if is_dense(new) and not is_dense(array):
            warn_dense("insert", wanted, array.dtype, [array, new], "one number takes less")
        with memory_for(wanted, "one number takes less", "an inserted part"):
            whole = concat([array, broadcast_to(new, wanted)], axis=axis)
    found = put_between(whole, n, at, axis)
    if found is not None:
        return found
    with memory_for((n + len(at),), BY_INDEX, "the indices"):
        order = np.empty(n + len(at), np.intp)
        kept = np.ones(len(order), bool)
        kept[at], order[at] = False, n + np.arange(len(at))
        order[kept] = np.arange(n)
        return take(whole, order, axis=axis)


# -- shapes -----------------------------------------------------------------------------------


def atleast(ndim: int) -> Callable[..., Any]:
    """``np.atleast_1d``, ``np.atleast_2d`` and ``np.atleast_3d`` of one array or several."""

    def one(x: Any) -> Any:
        array = array_of(x)
        if ndim == 3 and array.ndim in (1, 2):
            array = expand_dims(array, axis=array.ndim)
        return atleast_nd(array, ndim) if array.ndim < ndim else array

    return lambda *arrays: one(arrays[0]) if len(arrays) == 1 else tuple(map(one, arrays))


def reshaped(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """``a`` in another shape, its elements in row-major order, or ``order="F"``, column-major."""
    if order != "F":
        return reshape(a, shape, copy=copy)
    wanted = shape_of(shape)
    return _reversed(reshape(_reversed(array_of(a)), wanted[::-1], copy=copy))


def reshape_method(x: Any, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    """``x.reshape(m, n)`` and ``x.reshape((m, n))``."""
    return reshaped(x, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def _reversed(array: Any) -> Any:
    return permute_dims(array, tuple(range(array.ndim))[::-1])


def ravel(a: Any, order: str = "C") -> Any:
    """``a`` with one dimension, in row-major order, or ``order="F"``, in column-major order."""
    array = array_of(a)
    return reshape(_reversed(array) if order == "F" else array, (-1,))


def flattened(a: Any, order: str = "C") -> Any:
    """A copy of ``a`` with one dimension."""
    array = array_of(a)
    found = ravel(array, order)
    return fn.copied(found) if is_dense(array) or found is array else found


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """``a`` with dimension ``axis`` before that which is at ``start``."""
    array = array_of(a)
    place = axis_of(axis, array.ndim)
    before = start + array.ndim if start < 0 else start
    return moveaxis(array, place, before - (place < before))


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """``m`` turned by 90 degrees ``k`` times, from the first of ``axes`` to the second."""
    array = array_of(m)
    a, b = (axis_of(axis, array.ndim) for axis in axes)
    order = list(range(array.ndim))
    if k % 2:
        order[a], order[b] = b, a
    flipped = [array, flip(array, axis=b), flip(array, axis=(a, b)), None][k % 4]
    if flipped is not None:
        return permute_dims(flipped, order)
    return flip(permute_dims(array, order), axis=b)


# -- parts ------------------------------------------------------------------------------------


def flatnonzero(a: Any) -> Any:
    """The places of elements other than 0, of all in a row."""
    return nonzero(ravel(a))[0]


def extract(condition: Any, arr: Any) -> Any:
    """The elements of ``arr`` where ``condition`` holds, in a row."""
    return take(ravel(arr), flatnonzero(condition), axis=0)


def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    """The subarrays of ``a`` along ``axis`` where ``condition``, a list of bools, holds."""
    array = ravel(a) if axis is None else array_of(a)
    return take(array, nonzero(array_of(condition))[0], axis=axis or 0)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """The least box around the elements other than 0, along ``axis``, one or several (None: all):
    without the zeros at the front (``"f"``) and the back (``"b"``). Raises ``ValueError`` for
    another ``trim``."""
    array, kinds = array_of(filt), trim.lower()
    if kinds not in ("f", "b", "fb", "bf"):
        raise ValueError(f"trim is 'f', 'b' or 'fb', not {trim!r}")
    along = range(array.ndim) if axis is None else axes_of(axis, array.ndim)
    places = [x.to_numpy() for x in nonzero(array)] if array.ndim else []
    index = [slice(None)] * array.ndim
    for k in along:
        if not len(places[k]):
            index[k] = slice(0, 0)
            continue
        first, last = int(places[k].min()), int(places[k].max()) + 1
        index[k] = slice(first if "f" in kinds else 0, last if "b" in kinds else None)
    return getitem(array, tuple(index))


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The element of the first of ``choicelist`` whose condition holds, else ``default``."""
    pairs = reversed(list(zip(condlist, choicelist, strict=True)))
    return reduce(lambda found, pair: fn.where(pair[0], pair[1], found), pairs, default)


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Assign ``src`` to all of ``dst``, or where ``where`` holds."""
    dst[...] = src if where is True else fn.where(where, src, dst)


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Assign ``val`` to the elements of ``a`` whose indices are all equal: the fill, in time for
    what is stored. Raises ``DimensionMismatch`` for fewer than two dimensions, and for ``wrap``;
    ``OutOfMemory`` for a diagonal that there is no memory for."""
    if a.ndim < 2 or wrap:
        raise DimensionMismatch("fill_diagonal is of two dimensions or more, and without wrap=")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise DimensionMismatch(f"fill_diagonal of {a.ndim} dimensions of unequal sizes {a.shape}")
    if not is_dense(a) and isinstance(val, NUMBERS) and same(val, a.fill_value):
        _, (first, *others), _ = coordinates(a, shared=True)
        places = first[np.logical_and.reduce([first == other for other in others])]
        places = places.astype(np.intp)  # the fill takes the place of what is stored alone
    else:
        length = min(a.shape)
        if not is_dense(a):
            warn_many("fill_diagonal", length, a, [a])
        with memory_for([length], "the fill takes none", "a diagonal"):
            places = np.arange(length)
    with memory_for([len(places)], "the fill takes none", "a diagonal"):
        a[(places,) * a.ndim] = val


def take_method(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    """The subarrays at ``indices``, of any shape; ``mode``: those beyond are an error, the first or
    last (``"clip"``), or counted around (``"wrap"``)."""
    array = ravel(a) if axis is None else array_of(a)
    place = axis_of(axis or 0, array.ndim)
    if mode != "raise":
        n, wanted = array.shape[place], np.asarray(indices)
        indices = np.clip(wanted, 0, n - 1) if mode == "clip" else wanted % n
    return getitem(array, (slice(None),) * place + (indices,))


def repeat_method(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element along ``axis`` (None: of all in a row) repeated."""
    return repeat(a, repeats, axis=axis)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.concatenate: concatenate, np.stack: stacked,
    np.vstack: vstack, np.hstack: hstack, np.dstack: dstack,
    np.column_stack: column_stack, np.block: block, np.meshgrid: meshgrid,
    np.append: append, np.insert: insert,
    np.atleast_1d: atleast(1), np.atleast_2d: atleast(2), np.atleast_3d: atleast(3),
    np.reshape: reshaped, np.ravel: ravel, np.rollaxis: rollaxis, np.rot90: rot90,
    np.fliplr: lambda m: flip(m, axis=1), np.flipud: lambda m: flip(m, axis=0),
    np.flatnonzero: flatnonzero, np.extract: extract,
    np.compress: compress, np.trim_zeros: trim_zeros, np.select: select, np.copyto: copyto,
    np.fill_diagonal: fill_diagonal, np.take: take_method,
}  # fmt: skip
"""The function of this package for each of NumPy's."""

__all__ = ["FUNCTIONS", "flattened", "ravel", "repeat_method", "reshape_method", "take_method"]
