"""Indexing: integers, slices of any step, ``None``, ``...``, boolean masks and integer arrays.

The result is an array of its own. Slices of one step are read by a kernel through a window; all
else is found among the coordinates of what is stored, or gathered by a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from finch_array import cuts, taking
from finch_array.axes import axis_of
from finch_array.indices import (
    APART,
    Parts,
    checked_item,
    is_mask,
    of_shape,
    parts_of,
    without_flags,
)
from finch_array.joining import has_structure, moves_in_pieces
from finch_array.operands import (
    array_of,
    entries,
    gives_extents,
    has_gaps,
    is_dense,
    is_lazy,
    stored,
)
from finch_array.requests import Request, letters
from finch_array.run import (
    as_seen,
    coordinates,
    materialised,
    run,
    settled_plan,
    sorted_tensor,
)
from finch_array.sorted_coordinates import keys_of, matches, matches_in_order
from finch_core.errors import DimensionMismatch, OutOfBounds
from finch_core.runtime.backends import compiles
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.worth import are_few
from finch_wrappers import stride
from finch_wrappers.stride import StrideTensor
from finch_wrappers.window import WindowTensor, has_windows, window_of

# -- reading ----------------------------------------------------------------------------------


def getitem(x: Any, index: Any) -> Any:
    """``x[index]``, as of a NumPy array: an array of its own, or a NumPy scalar for one element."""
    array, key = x, None
    if x.__class__ is Tensor:
        key = cuts.key_of(x, index)
        if key is not None and (cut := cuts.recall(key)) is not None:
            return cut(x)
    else:
        if is_lazy(x) and (found := _lazily(x, index)) is not None:
            return found
        array = array_of(x)
    if index.__class__ is not slice:
        index = of_shape(index, array)
        if is_mask(index, array):
            return masked(array, index)
    if is_dense(array):
        found = _of_dense(array.to_numpy(), index)
        return found if isinstance(found, np.generic) else array_of(np.array(found))
    shape = array.shape
    place = _vector_place(index, len(shape))
    if place is not None and (not has_structure(array) or moves_in_pieces(array)):
        vector = index[place] if index.__class__ is tuple else index
        return taking.taken(array, checked_item(vector, shape[place], place), place)
    if _are_vectors(index, len(shape)) and has_gaps(array) and not moves_in_pieces(array):
        vectors = tuple([checked_item(x, shape[k], k) for k, x in enumerate(index)])
        return _elements(array, Parts(vectors, (), (1,) * len(vectors)))
    items = _plain_items(index, shape)
    if items is not None:
        if array.__class__ is Tensor:
            return _cut(array, items, shape, key)
        return _basic(array, items, ())
    if (apart := without_flags(index)) is not None:
        return getitem(getitem(array, apart[0]), apart[1])
    parts = parts_of(index, array.shape)
    if any(item.__class__ is np.ndarray for item in parts.items):
        return _advanced(array, parts)
    return _basic(array, parts.items, parts.new)


_WHOLE = slice(None)


def _vector_place(index: Any, ndim: int) -> int | None:
    """The dimension that a vector of integers indexes, where all others are taken whole."""
    given = index if index.__class__ is tuple else (index,)
    found = None
    for k, x in enumerate(given):
        if x.__class__ is np.ndarray:
            if found is not None or x.ndim != 1 or x.dtype.kind != "i":
                return None
            found = k
        elif x.__class__ is not slice or x != _WHOLE:
            return None
    return found if len(given) <= ndim else None


def _are_vectors(index: Any, ndim: int) -> bool:
    """Whether an index is vectors of integers of one length, for all dimensions, two or more."""
    if index.__class__ is not tuple or len(index) != ndim or ndim < 2:
        return False
    for x in index:
        if x.__class__ is not np.ndarray or x.ndim != 1 or x.dtype.kind != "i":
            return False
        if len(x) != len(index[0]):
            return False
    return True


def _plain_items(index: Any, shape: tuple[int, ...]) -> tuple[Any, ...] | None:
    """One item for each dimension of an index that is made of ints and slices alone, as most are;
    None for another, and for one that is out of bounds."""
    given = index if index.__class__ is tuple else (index,)
    rest = len(shape) - len(given)
    if rest < 0:
        return None
    items: list[Any] = []
    for x, n in zip(given, shape, strict=False):
        if x.__class__ is int and -n <= x < n:
            items.append(x % n)
        elif x.__class__ is slice:
            items.append(x)
        else:
            return None
    return (*items, *[_WHOLE] * rest)


def _lazily(x: Any, index: Any) -> Any:
    """A lazy array at integers and slices, which is lazy; None for other indices."""
    if is_mask(index, x) or without_flags(index) is not None:
        return None
    parts = parts_of(index, x.shape)
    if any(isinstance(item, np.ndarray) for item in parts.items):
        return None
    from finch_array.plan.views import sliced

    return sliced(x, parts.items, parts.new)


def _of_dense(array: Any, index: Any) -> Any:
    try:
        return array[_plain(index)]
    except IndexError as error:
        parts_of(index, array.shape)  # raises the error in our words, where it has them
        raise OutOfBounds(str(error)) from None


def _plain(index: Any) -> Any:
    """An index as NumPy takes it."""
    if isinstance(index, tuple):
        return tuple(_plain(x) for x in index)
    return index.to_numpy() if hasattr(index, "signature") else index


def _basic(array: Any, items: Sequence[Any], new: Sequence[int]) -> Any:
    """Integers and slices: a kernel through a window, or a stride where there are steps."""
    ranges = [
        range(x, x + 1) if isinstance(x, int) else range(*x.indices(n))
        for x, n in zip(items, array.shape, strict=True)
    ]
    dropped = [k for k, item in enumerate(items) if isinstance(item, int)]
    whole = all(r == range(n) for r, n in zip(ranges, array.shape, strict=True))
    if new and whole and not dropped:
        return _with_new(array, new)
    found = stored(array)
    if len(dropped) == array.ndim and found.source.__class__ is Tensor:
        value = found.source[tuple([items[axis] for axis in found.axes])]
        return array_of(np.full((1,) * len(new), value)) if new else value
    found = without(part_of(array, ranges), dropped)
    return _with_new(found, new) if new else found


def _cut(tensor: Tensor, items: Sequence[Any], shape: tuple[int, ...], key: Any) -> Any:
    """A tensor at integers and slices; ``key`` tells both (see ``cuts``)."""
    dropped = [k for k, x in enumerate(items) if x.__class__ is int]
    view = view_of(tensor, items, shape)
    found = without(view, dropped)
    if key is not None and len(dropped) < len(items):
        plan = _part(tuple(dropped), stored(view).axes)[0] if dropped else ("part", len(items))
        cuts.remember(key, view, settled_plan(plan, [view]))
    return found


def cut_of(tensor: Tensor, index: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """A sparse tensor at an index of an integer or a slice for each dimension, not integers
    alone, within its shape."""
    key = cuts.key_of(tensor, index)
    cut = cuts.recall(key)
    return cut(tensor) if cut is not None else _cut(tensor, index, shape, key)


def view_of(tensor: Tensor, items: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """A view of a tensor at integers, whose dimensions have a size of 1, and slices."""
    bounds: list[tuple[int, int] | None] = []
    steps: list[int] = []
    for x, n in zip(items, shape, strict=True):
        if x.__class__ is int:
            bounds.append((x, x + 1))
            steps.append(1)
            continue
        start, stop, step = x.indices(n)
        if step != 1:
            wanted = range(start, stop, step)
            ends = (wanted[0], wanted[-1])[:: 1 if step > 0 else -1] if wanted else (0, -1)
            start, stop = ends[0], ends[1] + 1
        whole = start == 0 and stop == n
        bounds.append(None if whole else (start, stop) if start < stop else (0, 0))
        steps.append(step)
    found: Any = WindowTensor.of_valid(tensor, tuple(bounds)) if any(bounds) else tensor
    return StrideTensor(found, tuple(steps)) if any(step != 1 for step in steps) else found


def part_of(array: Any, ranges: Sequence[range]) -> Any:
    """A view of the indices in ``ranges``, one for each dimension."""
    found = stored(array)
    if not (gives_extents(found.source) and has_windows(found.source)):
        found = stored(as_seen(materialised(found.source), found.axes))
    wanted = [ranges[axis] for axis in found.axes]
    sizes = found.source.shape
    if all(r.step == 1 for r in wanted):
        pairs = [(r.start, r.stop) if r else (0, 0) for r in wanted]
        bounds = [None if p == (0, n) else p for p, n in zip(pairs, sizes, strict=True)]
        source = window_of(found.source, tuple(bounds)) if any(bounds) else found.source
    else:
        source = stride(found.source, *map(_slice, wanted))
    return as_seen(source, found.axes)


def _slice(wanted: range) -> slice:
    if not wanted:
        return slice(0, 0, wanted.step)
    stop = wanted[-1] + (1 if wanted.step > 0 else -1)
    return slice(wanted[0], stop if stop >= 0 else None, wanted.step)


def without(array: Any, dropped: Sequence[int]) -> Any:
    """A copy of a view without the dimensions ``dropped``, of size 1; a NumPy scalar of none."""
    if not dropped:
        return copied(array)
    if len(dropped) == array.ndim:
        return copied(array).to_numpy().reshape(())[()]
    return run(*_part(tuple(dropped), stored(array).axes), [array])


@lru_cache(maxsize=1024)
def _part(dropped: tuple[int, ...], axes: tuple[int, ...]) -> tuple[Any, Callable[[], Request]]:
    """The key and the request of copies without the dimensions ``dropped``, of size 1, of arrays
    that are stored in this order of dimensions."""
    ndim = len(axes)
    names, kept = letters(ndim), tuple([k for k in range(ndim) if k not in dropped])
    last = max([axes.index(k) for k in kept])
    fixed = frozenset([names[k] for k in dropped if axes.index(k) < last])
    out = tuple([names[k] for k in kept])

    def request() -> Request:
        return Request("part", lambda x: x, (names,), out, fixed=fixed)

    return ("part", ndim, kept, fixed), request


def copied(array: Any) -> Any:
    """A tensor of its own with the elements of a view."""
    names = letters(array.ndim)
    return run(("part", array.ndim), lambda: Request("part", lambda x: x, (names,), names), [array])


def _with_new(array: Any, new: Sequence[int]) -> Any:
    from finch_array.manipulation import reshape

    shape = list(array.shape)
    for place in new:
        shape.insert(place, 1)
    return reshape(array_of(array), tuple(shape))


def _advanced(array: Any, parts: Parts) -> Any:
    """Integer arrays: stored elements are chosen by their coordinates; where every element is
    stored, those at the coordinates of the result are gathered."""
    structured = moves_in_pieces(array)
    if not parts.new and (structured or not has_structure(array)):
        vectors = [k for k, x in enumerate(parts.items) if x.__class__ is not slice]
        if len(vectors) == 1 and parts.items[vectors[0]].ndim == 1:
            return _taken(array, parts.items, vectors[0])
    if not parts.new and _is_open_mesh(parts):
        found = array
        for k, x in enumerate(parts.items):
            if x.__class__ is not slice:
                found = getitem(found, (*[_WHOLE] * k, x.reshape(-1)))
            elif x != _WHOLE:
                found = getitem(found, (*[_WHOLE] * k, x))
        return found
    scattered = all(x.__class__ is not slice for x in parts.items)
    if has_gaps(array) and not (structured and scattered):
        if scattered and not parts.new and not structured:
            return _elements(array, parts)
        return _chosen(array, parts)
    grids, shape = positions(parts, array.shape)
    return array_of(gathered(array, [g.reshape(-1) for g in grids]).reshape(shape))


def _are_few(array: Any) -> bool:
    """Whether single elements of an array are found by going through all that it stores."""
    return are_few(("elements", array.signature), entries(array)) or not compiles()


def _elements(array: Any, parts: Parts) -> Any:
    """A list of single elements: each is looked up in a level where the array stores many."""
    if _are_few(array):
        return _chosen(array, parts)
    shape, sought = _sought(parts.items)
    found = taking.listed_elements(array, sought)
    if len(shape) == 1:
        return found
    _, (places,), values = coordinates(found)
    coords = np.unravel_index(places, shape)
    return sorted_tensor(shape, coords, values, array.fill_value, of=(array,), in_order=True)


def _is_open_mesh(parts: Parts) -> bool:
    """Whether integer arrays are those of ``np.ix_``: side by side, and each varies along its own
    dimension of all that they broadcast to."""
    where = [k for k, x in enumerate(parts.items) if x.__class__ is not slice]
    count = len(where)
    if count < 2 or where[-1] - where[0] != count - 1:
        return False
    return all(
        np.ndim(parts.items[k]) == count and parts.items[k].size == parts.items[k].shape[n]
        for n, k in enumerate(where)
    )


def _taken(array: Any, items: Sequence[Any], place: int) -> Any:
    """One vector of integers, and slices: the levels are kept."""
    slices = [x if k != place else _WHOLE for k, x in enumerate(items)]
    if any(x != _WHOLE for x in slices):
        array = getitem(array, tuple(slices))
    return taking.taken(array, items[place], place)


def _chosen(array: Any, parts: Parts) -> Any:
    """The stored elements at integer arrays and slices, in time proportional to what is stored and
    to the lengths of the integer arrays."""
    slices = tuple([x if x.__class__ is slice else _WHOLE for x in parts.items])
    cut = array if all(x == _WHOLE for x in slices) else getitem(array, slices)
    shape, coords, values = coordinates(cut)
    arrays, dimensions = result_dimensions(parts.widths)
    joint, sought = _sought([parts.items[k] for k in arrays])
    sizes = tuple([shape[k] for k in arrays])
    own, keys = keys_of(sizes, [coords[k] for k in arrays]), keys_of(sizes, sought)
    leading = cut.__class__ is Tensor and arrays[-1] == len(arrays) - 1  # so that these are sorted
    match = matches_in_order if leading else matches
    entry, place = match(own, keys, math.prod(sizes))
    result: list[tuple[int, Any]] = []
    for item in dimensions:
        if item == "joint":
            found = (place,) if len(joint) == 1 else np.unravel_index(place, joint) if joint else ()
            result += zip(joint, found, strict=True)
        elif item is None:
            result.append((1, np.zeros(len(entry), np.intp)))
        else:
            result.append((shape[item], coords[item][entry]))
    return sorted_tensor(
        tuple([n for n, _ in result]), [c for _, c in result], values[entry], array.fill_value,
        of=(array,), in_order=leading,
    )  # fmt: skip


def _sought(items: Sequence[Any]) -> tuple[tuple[int, ...], list[Any]]:
    """The shape to which integers and arrays of them broadcast, and each of them so, flattened."""
    shapes = [np.shape(x) for x in items]
    if len(set(shapes)) == 1:  # one of them is an array
        return shapes[0], [x.reshape(-1) for x in items]
    joint = np.broadcast_shapes(*shapes)
    return joint, [np.broadcast_to(x, joint).reshape(-1) for x in items]


@lru_cache(maxsize=1024)
def result_dimensions(widths: tuple[int | None, ...]) -> tuple[list[int], list[Any]]:
    """The dimensions that an index with integer arrays, of these widths (see ``Parts``), does not
    slice; and the dimensions of its result, in NumPy's order: the numbers of those that are sliced,
    None for new ones, and once ``"joint"`` for all of the arrays."""
    arrays: list[int] = []
    rest: list[Any] = []
    places = []
    dimension = 0
    for place, n in enumerate(widths):
        if n == APART:
            continue
        if n:
            arrays += range(dimension, dimension + n)
            places.append((place, len(rest)))
        else:
            rest.append(None if n is None else dimension)
        dimension += n if n else n is not None
    together = places and places[-1][0] - places[0][0] == len(places) - 1
    at = places[0][1] if together else 0
    return arrays, [*rest[:at], "joint", *rest[at:]]


def positions(parts: Parts, shape: tuple[int, ...]) -> tuple[list[Any], tuple[int, ...]]:
    """For each dimension, the indices of the elements that an index chooses, as arrays of the shape
    of its result, and that shape."""
    arrays, dimensions = result_dimensions(parts.widths)
    joint = np.broadcast_shapes(*(np.shape(parts.items[k]) for k in arrays))
    values = {k: np.broadcast_to(parts.items[k], joint) for k in arrays}
    places = dict.fromkeys(arrays, 0)
    full: list[int] = []
    for item in dimensions:
        if item == "joint":
            places |= dict.fromkeys(arrays, len(full))
            full += joint
        elif item is None:
            full.append(1)
        else:
            values[item] = np.arange(*parts.items[item].indices(shape[item]))
            places[item] = len(full)
            full.append(len(values[item]))
    result = tuple(full)
    return [_spread(values[k], places[k], result) for k in range(len(shape))], result


def _spread(values: Any, place: int, full: tuple[int, ...]) -> Any:
    """``values`` as an array of shape ``full``, with its dimensions from ``place`` on."""
    shape = (1,) * place + values.shape + (1,) * (len(full) - place - values.ndim)
    return np.broadcast_to(values.reshape(shape), full)


def gathered(array: Any, indices: Sequence[Any]) -> Any:
    """The elements of an array at coordinates, one array of them for each dimension, in order."""
    if not len(indices[0]):
        return np.zeros(0, array.dtype)
    if moves_in_pieces(array) or not _are_few(array):
        return taking.elements(array, indices)
    shape, coords, values = coordinates(array)
    result = np.full(len(indices[0]), array.fill_value, array.dtype)
    if len(values):
        keys, sought = keys_of(shape, coords), keys_of(shape, indices)
        if array.__class__ is not Tensor:  # otherwise sorted
            order = keys.argsort(kind="stable")
            keys, values = keys[order], values[order]
        place = np.minimum(keys.searchsorted(sought), len(keys) - 1)
        there = keys[place] == sought
        result[there] = values[place[there]]
    return result


# -- masks and take ---------------------------------------------------------------------------


def masked(array: Any, mask: Any) -> Any:
    """The elements of ``array`` where ``mask``, of its shape, is true, in row-major order."""
    chosen = array_of(mask)
    if is_dense(array) and is_dense(chosen):
        return array_of(array.to_numpy()[chosen.to_numpy()])
    return array_of(gathered(array, true_places(chosen)))


def true_places(mask: Any) -> list[Any]:
    """The coordinates at which an array is true, or not 0, in row-major order."""
    if is_dense(mask) or mask.fill_value:
        return list(np.nonzero(mask.to_numpy()))
    _, coords, values = coordinates(mask, shared=True)
    if np.count_nonzero(values) < len(values):
        (chosen,) = values.nonzero()
        coords = [c[chosen] for c in coords]
    coords = [c.astype(np.intp) for c in coords]
    if mask.__class__ is Tensor:  # otherwise they may be in another order
        return coords
    order = np.lexsort(coords[::-1])
    return [c[order] for c in coords]


def take(x: Any, indices: Any, /, axis: int | None = None) -> Any:
    """The subarrays of ``x`` at ``indices`` along ``axis``.

    Raises ``DimensionMismatch`` if ``axis`` is missing and ``x`` is no vector.
    """
    array = array_of(x)
    if axis is None:
        if array.ndim != 1:
            raise DimensionMismatch(f"take of an array of {array.ndim} dimensions needs an axis")
        axis = 0
    chosen = indices if indices.__class__ is np.ndarray else array_of(indices)
    place = axis_of(axis, array.ndim)
    return getitem(array, (*[_WHOLE] * place, chosen) if place else chosen)


def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> Any:
    """The elements of ``x`` at ``indices`` along ``axis``, at the place of each in the others.

    Raises ``DimensionMismatch`` unless both have as many dimensions.
    """
    array, chosen = array_of(x), array_of(indices)
    place = axis_of(axis, array.ndim)
    if chosen.ndim != array.ndim:
        raise DimensionMismatch(f"indices of {chosen.ndim} dimensions for {array.ndim}")
    if is_dense(array):
        return array_of(np.take_along_axis(array.to_numpy(), chosen.to_numpy(), place))
    wanted = chosen.to_numpy()
    if all(n == 1 for k, n in enumerate(wanted.shape) if k != place):  # the same in each fiber
        return take(array, checked_item(wanted.reshape(-1), array.shape[place], place), axis=place)
    shape = [
        max(m, n) if k != place else n
        for k, (m, n) in enumerate(zip(array.shape, wanted.shape, strict=True))
    ]
    grid: list[Any] = list(np.indices(shape, sparse=True))
    grid = [g if array.shape[k] != 1 else np.zeros_like(g) for k, g in enumerate(grid)]
    grid[place] = checked_item(wanted, array.shape[place], place)
    full = np.broadcast_arrays(*grid)
    return array_of(gathered(array, [g.reshape(-1) for g in full]).reshape(shape))
