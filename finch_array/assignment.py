"""Assignment to parts of arrays: in the memory of dense ones, unless their leaf is in a form of its
own; the coordinates of sparse ones are merged with those that are assigned, and the array is built
again in its format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array.functions import dtype_of
from finch_array.indexing import (
    _plain,
    getitem,
    positions,
    true_places,
)
from finch_array.indices import (
    Parts,
    is_mask,
    is_sizeless,
    of_shape,
    parts_of,
    without_flags,
)
from finch_array.joining import LARGE, Segment, has_structure, joined
from finch_array.leaves import differs
from finch_array.manipulation import permute_dims, reshape
from finch_array.methods import adopt, replace
from finch_array.operands import (
    NUMBERS,
    array_of,
    entries,
    is_dense,
    may_have_runs,
    operand,
    settled,
    stored,
)
from finch_array.requests import Request, letters
from finch_array.run import coordinates, run, sorted_tensor
from finch_array.scattering import inside, misfit, scattered, spread
from finch_array.sorted_coordinates import FEW, MOST_PLACES, keys_of
from finch_array.wide_numbers import check_range
from finch_core.errors import DimensionMismatch, FormatError, OutOfBounds
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Call, Expr, Literal
from finch_core.ir.operators import alike
from finch_core.ir.program import Stored
from finch_core.runtime.lists import memory_of, with_part_of_row
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.worth import are_few
from finch_core.runtime.writers import Writer, begin_writing

READ_ONLY = "this array is read-only"


def setitem(x: Any, index: Any, value: Any) -> None:
    """``x[index] = value``, as of a NumPy array.

    Raises ``OutOfBounds`` for an index that there is not, ``DimensionMismatch`` for a value that
    does not broadcast to the part, ``TypeError`` for a dtype that the array cannot hold,
    ``FormatError`` for a wrapper, and where the format cannot hold the result, and
    ``LifecycleError`` for an array that is not dense and that another thread is writing.
    """
    array = x
    if array.__class__ is not Tensor:
        _into_wrapper(array, index, value)
    elif is_dense(array):
        _into_dense(array, index, value)
    else:
        mark = Writer()
        try:
            begin_writing(array, mark)
            _into_sparse(array, index, value)
        finally:
            mark.ended = True


def _into_dense(array: Tensor, index: Any, value: Any) -> None:
    given = operand(_of_numbers(array.dtype, value))
    _check_dtype(array, given)
    index = of_shape(index, array)
    if array.signature.readonly:
        raise FormatError(READ_ONLY, hint="assign to a copy, A.copy()")
    plain = given if isinstance(given, NUMBERS) else given.to_numpy()
    memory = memory_of(array)
    found = array.to_numpy() if memory is None else memory
    _assign_dense(found, _plain(index), plain)
    if memory is None:
        replace(array, array_of(found))


def _into_sparse(array: Tensor, index: Any, value: Any) -> None:
    given = operand(_of_numbers(array.dtype, value))
    _check_dtype(array, given)
    if is_sizeless(index, array) and isinstance(given, NUMBERS):
        replace(array, _where_true(array, index, given))
        return
    index = of_shape(index, array)
    if (apart := without_flags(index)) is not None:
        seen = getitem(array, apart[0])
        setitem(seen, apart[1], given)
        replace(array, reshape(seen, array.shape))
        return
    _assign_sparse(array, index, given)


def _into_wrapper(array: Any, index: Any, value: Any) -> None:
    """Assign to a permuted array: to the tensor that it is a view of."""
    inner = stored(array)
    if (plain := memory_of(array)) is not None:
        if not plain.flags.writeable:
            raise FormatError(READ_ONLY, hint="assign to a copy, A.copy()")
        value = _of_numbers(array.dtype, value)
        _check_dtype(array, operand(value))
        given = value.to_numpy() if hasattr(value, "signature") else value
        _assign_dense(plain, _plain(index), given)
        return
    if not isinstance(inner.source, Tensor):
        name = inner.source.name
        raise FormatError(f"the result of {name} takes no assignments", hint="assign to a copy")
    turned = _through(array, inner.axes, index, value)
    if turned is not None:
        setitem(inner.source, *turned)
        return
    mark = Writer()
    try:
        begin_writing(inner.source, mark)
        shape, coords, values = coordinates(array)
        whole = sorted_tensor(shape, coords, values, array.fill_value, of=(array,))
        setitem(whole, index, value)
        replace(inner.source, permute_dims(whole, inner.axes))
    finally:
        mark.ended = True


def _through(array: Any, axes: Sequence[int], index: Any, value: Any) -> tuple[Any, Any] | None:
    """The index and the value of an assignment to what stores a permuted array, whose dimension
    ``k`` is dimension ``axes[k]`` of it. None for an index with masks or arrays."""
    if is_sizeless(index, array) or is_mask(index, array) or without_flags(index) is not None:
        return None
    parts = parts_of(index, array.shape)
    if any(x.__class__ is np.ndarray for x in parts.items):
        return None
    given = operand(_of_numbers(array.dtype, value))
    turned = tuple([parts.items[axis] for axis in axes])
    if not isinstance(given, NUMBERS):
        _check_dtype(array, given)
        box = _of_box(given, parts, _spans(parts, array.shape))
        whole = permute_dims(box, tuple(axes))
        kept = [n for x, n in zip(turned, whole.shape, strict=True) if x.__class__ is slice]
        given = reshape(whole, tuple(kept))
    return turned, given


def _assign_dense(array: Any, index: Any, value: Any) -> None:
    try:
        array[index] = value
    except IndexError as error:
        parts_of(index, array.shape)
        raise OutOfBounds(str(error)) from None
    except ValueError as error:
        raise DimensionMismatch(str(error)) from None


def _of_numbers(dtype: np.dtype[Any], value: Any) -> Any:
    """Lists of numbers as an array of ``dtype``, as a number alone takes it: of integers that it
    holds, and of floats where it has floats; 0 and 1 are bools. Other values are themselves."""
    if value.__class__ not in (list, tuple, int):
        return value
    try:
        given = np.asarray(value)
    except ValueError:  # lists of several lengths
        return value
    if not given.size:
        return given.astype(dtype)
    kinds = given.dtype.kind + dtype.kind
    if kinds == "ib":
        return given.astype(bool) if np.isin(given, (0, 1)).all() else value
    if value.__class__ is int or kinds not in ("ii", "iu", "ff", "cc"):
        return value
    if given.dtype.kind == "i":
        check_range(dtype, [int(given.min()), int(given.max())])
    return given.astype(dtype)


def _check_dtype(array: Any, value: Any) -> None:
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        check_range(array.dtype, [value])
        found = np.result_type(array.dtype, type(value)(0))
    else:
        found = dtype_of(value)
    if not np.can_cast(found, array.dtype, "same_kind"):
        raise TypeError(
            f"a value of {found} does not fit in an array of {array.dtype}: cast it, as in "
            f"value.astype(np.{array.dtype})"
        )


def _assign_sparse(array: Tensor, index: Any, value: Any) -> None:
    shape = array.shape
    fill, masked = array.fill_value, is_mask(index, array)
    parts = None if masked else parts_of(index, shape)
    if parts is not None and _into_row(array, parts, value):
        return
    large = math.prod(shape) > LARGE and has_structure(array)  # else coordinates take less time
    apart = parts is None and (
        (hasattr(index, "signature") and has_structure(index))
        or _is_true_elsewhere(array_of(index))
        or not are_few(("masked", array.signature), entries(array))
    )
    small = are_few(("assigned", array.signature), entries(array))
    few = None
    if parts is not None and small and not (large and may_have_runs(array)):
        few = _few(parts, shape, value, fill)
    if few is None and (large or apart):
        found = _as_stored(array, index, parts, value)
        if found is not None:
            replace(array, found)
            return
    if not small and math.prod(shape) <= MOST_PLACES:
        found = _merged(array, index, parts, value)
        if found is not None:
            replace(array, found)
            return
    found = None if parts is None else scattered(array, parts, value)
    if found is not None:
        replace(array, found)
        return
    _, coords, values = coordinates(array)
    if few is None and parts is not None:
        few = _few(parts, shape, value, fill)
    if few is not None:
        spans, added, new = few
        kept = ~inside(len(values), coords, spans)
        whole = [np.concatenate([c[kept], a]) for c, a in zip(coords, added, strict=True)]
    else:
        changed, new = _changes(array, index, parts, value)
        keys = keys_of(shape, coords)
        kept = ~_among(keys, changed)
        there = differs(new, fill)
        new = new[there]
        whole = list(np.unravel_index(np.concatenate([keys[kept], changed[there]]), shape))
    found = np.concatenate([values[kept], new.astype(array.dtype)])
    replace(array, sorted_tensor(shape, whole, found, fill, of=(array,)))


def _into_row(array: Tensor, parts: Parts, value: Any) -> bool:
    """Whether ``value`` was assigned to elements side by side of one row, without a walk of the
    others: a number, or a dense array of as many elements."""
    *row, last = parts.items
    if parts.new or not all(x.__class__ is int for x in row):
        return False
    if last.__class__ is int:
        part = range(last, last + 1)
    elif last.__class__ is slice:
        part = range(*last.indices(array.shape[-1]))
    else:
        return False
    fill, dtype = array.fill_value, array.dtype
    if part.step != 1 or not part:
        return False
    if isinstance(value, NUMBERS):
        with np.errstate(all="ignore"):
            number = np.asarray(value).astype(dtype)[()]
        count = 0 if alike(number, fill) else len(part)
        indices, values = np.arange(part.start, part.start + count), np.full(count, number)
    elif is_dense(value) and value.shape == (len(part),) and last.__class__ is slice:
        values = value.to_numpy().astype(dtype)
        there = differs(values, fill)
        indices, values = part.start + there.nonzero()[0], values[there]
    else:
        return False
    arrays = with_part_of_row(array, row, part, indices, values)
    if arrays is None:
        return False
    adopt(array, array.record, arrays)
    return True


def _changes(array: Any, index: Any, parts: Parts | None, value: Any) -> tuple[Any, Any]:
    """The places that are assigned, as numbers in order, and what is assigned there."""
    places, part_shape = _places(array, index, parts)
    new = _values_at(array, value, places, part_shape, parts is None)
    changed = keys_of(array.shape, places)
    if parts is None or len(new) == 1:
        return changed, new
    changed, last = np.unique(changed[::-1], return_index=True)  # the last of equals counts
    return changed, new[::-1][last]


def _merged(array: Tensor, index: Any, parts: Parts | None, value: Any) -> Any:
    """The array with what is assigned, by a kernel that merges both; None where more is assigned
    than the array stores."""
    shape = array.shape
    if parts is not None and _count(parts, shape) > entries(array):
        return None
    changed, new = _changes(array, index, parts, value)
    coords = np.unravel_index(changed, shape)
    given = sorted_tensor(shape, coords, new, array.fill_value, of=(array,), in_order=True)
    names = letters(array.ndim)
    return run(
        ("assigned", array.ndim),
        lambda: Request("assigned", _replaced, (names, names), names), [array, given],
    )  # fmt: skip


def _replaced(old: Expr, new: Expr) -> Expr:
    return Call(prim.ifelse, (Stored(new), new, old))


def _count(parts: Parts, shape: tuple[int, ...]) -> int:
    """How many elements a part has at most."""
    found = 1
    for x, n in zip(parts.items, shape, strict=True):
        if x.__class__ is slice:
            found *= len(range(*x.indices(n)))
    joint = np.broadcast_shapes(*(x.shape for x in parts.items if x.__class__ is np.ndarray))
    return found * math.prod(joint)


def _as_stored(array: Tensor, index: Any, parts: Parts | None, value: Any) -> Any:
    """The array with ``value`` where a mask is true, or in a box of slices of one step: by kernels.
    None for another index, and for several values where a mask is true."""
    if parts is None:
        if not isinstance(value, NUMBERS):
            return None
        return _where_true(array, array_of(index), value)
    if any(x.__class__ is np.ndarray for x in parts.items):
        return None
    spans = _spans(parts, array.shape)
    if any(span.step != 1 for span in spans):
        return None
    if not isinstance(value, NUMBERS):
        value = _of_box(value, parts, spans)
    elif all(len(span) == 1 for span in spans) and not are_few(
        ("element", array.signature), max(array.shape)
    ):  # a kernel for all numbers
        with np.errstate(all="ignore"):
            value = array_of(np.full((1,) * array.ndim, value).astype(array.dtype))
    return _boxed(array, spans, value, 0) if all(spans) else array


def _spans(parts: Parts, shape: Sequence[int]) -> list[range]:
    """The indices of each dimension that ints and slices choose."""
    return [
        range(x, x + 1) if isinstance(x, int) else range(*x.indices(n))
        for x, n in zip(parts.items, shape, strict=True)
    ]


def _of_box(value: Any, parts: Parts, spans: Sequence[range]) -> Any:
    """What is assigned to a box, as an array of all its dimensions."""
    part = [len(s) for s, x in zip(spans, parts.items, strict=True) if not isinstance(x, int)]
    for place in parts.new:
        part.insert(place, 1)
    return reshape(spread(settled(value), tuple(part)), tuple(map(len, spans)))


def _where_true(array: Tensor, mask: Any, value: Any) -> Any:
    """The array with a number where a mask is true, by a kernel: where that is the fill, over what
    the array stores."""
    number, names = array.dtype.type(value), letters(array.ndim)
    if not alike(number, array.fill_value):
        return fn.where(mask, number, array)
    fill = Literal(number, array.dtype)
    return run(
        ("cleared", array.ndim, fill),
        lambda: Request(
            "assigned", lambda old, chosen: Call(prim.ifelse, (chosen, fill, old)), (names, names),
            names,
        ), [array, mask],
    )  # fmt: skip


def _boxed(array: Any, spans: list[range], value: Any, axis: int) -> Any:
    """``array`` with ``value`` in a box that is all of it before dimension ``axis``."""
    span, n = spans[axis], array.shape[axis]
    below = zip(spans[axis + 1 :], array.shape[axis + 1 :], strict=True)
    if any(len(s) != m for s, m in below):
        inner = getitem(array, (*[slice(None)] * axis, slice(span.start, span.stop)))
        value = _boxed(inner, spans, value, axis + 1)
        if len(span) == n:
            return value
    size = len(span)
    ends = [Segment(array, 0, span.start), Segment(value, 0, size), Segment(array, span.stop, n)]
    kept = [x for x in ends if x.stop > x.start]
    if len(kept) == 1:
        kept = [Segment(array, 0, 0), *kept]
    return joined(kept, axis, array.dtype, array.fill_value)


def _few(
    parts: Parts, shape: tuple[int, ...], value: Any, fill: Any
) -> tuple[list[range], list[Any], Any] | None:
    """Where slices choose the part, and ``value`` is the fill, a number for at most ``FEW``
    elements, or an array of that fill which has the shape of the part: the indices of the part by
    dimension, and the coordinates and values of what is other than the fill."""
    if any(isinstance(x, np.ndarray) for x in parts.items):
        return None
    spans = _spans(parts, shape)
    sliced = [k for k, x in enumerate(parts.items) if isinstance(x, slice)]
    if isinstance(value, NUMBERS):
        with np.errstate(all="ignore"):
            number = np.asarray(value).astype(fill.dtype)[()]
        count = math.prod(map(len, spans))
        if not count or alike(number, fill):
            none = np.zeros(0, np.intp)
            return spans, [none] * len(spans), none
        if count > FEW:
            return None
        grids = np.meshgrid(*map(np.asarray, spans), indexing="ij")
        return spans, [grid.reshape(-1) for grid in grids], np.full(count, number)
    if (
        is_dense(value)
        or value.shape != tuple([len(spans[k]) for k in sliced])
        or not alike(value.fill_value, fill)
    ):
        return None
    _, given, found = coordinates(value)
    there = differs(found, fill)
    added = [np.full(np.count_nonzero(there), span.start, np.intp) for span in spans]
    for k, c in zip(sliced, given, strict=True):
        added[k] = spans[k].start + spans[k].step * np.asarray(c, np.intp)[there]
    return spans, added, found[there]


def _is_true_elsewhere(mask: Any) -> bool:
    """Whether a mask is true where it stores nothing: then its places are not listed."""
    return not is_dense(mask) and bool(mask.fill_value)


def _among(keys: Any, sought: Any) -> Any:
    """Which of some numbers are among others, which are sorted."""
    if not len(sought):
        return np.zeros(len(keys), bool)
    return sought[np.minimum(sought.searchsorted(keys), len(sought) - 1)] == keys


def _places(array: Any, index: Any, parts: Parts | None) -> tuple[list[Any], tuple[int, ...]]:
    """The coordinates that an index chooses, and the shape of the part."""
    if parts is None:
        places = true_places(array_of(index))
        return places, (len(places[0]),)
    grids, full = positions(parts, array.shape)
    if math.prod(full) > np.iinfo(np.intp).max // 16:
        raise DimensionMismatch(f"a part of shape {full} is too large to be assigned")
    return [np.ascontiguousarray(g).reshape(-1) for g in grids], full


def _values_at(array: Any, value: Any, places: Any, shape: tuple[int, ...], mask: bool) -> Any:
    """The values that are assigned, one for each place, in the dtype of the array."""
    plain = np.asarray(value) if isinstance(value, NUMBERS) else value.to_numpy()
    while plain.ndim > len(shape) and plain.shape[0] == 1:
        plain = plain[0]
    try:
        whole = np.broadcast_to(plain, shape)
    except ValueError:
        raise misfit(plain.shape, shape) from None
    return whole.reshape(-1).astype(array.dtype)
