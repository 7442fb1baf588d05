"""Creation of arrays. Constants are dense unless ``format`` says otherwise; ``eye``, ``diags``,
``tril`` and ``random`` store what is not 0."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array.axes import shape_of
from finch_array.joining import moves_in_pieces
from finch_array.leaves import same, with_leaf
from finch_array.operands import NUMBERS, array_of, in_numpy, is_dense
from finch_array.ready import memory_for
from finch_array.run import coordinates, in_format, is_short, sorted_tensor
from finch_array.wide_numbers import check_range
from finch_core.errors import DimensionMismatch, FormatError
from finch_core.interface.abi import MOST_INDICES
from finch_core.interface.array_methods import ArrayMethods
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.ir.expressions import alike
from finch_core.records import evolve
from finch_core.runtime import devices
from finch_core.runtime.compressed import format_of
from finch_core.runtime.convert import from_coordinates
from finch_core.runtime.tensor import Tensor
from finch_wrappers.band_mask import BandMask

DEVICES = (None, "cpu")


def asarray(
    obj: Any, /, *, dtype: Any = None, format: Format | None = None, copy: bool | None = None,
    device: Any = None,
) -> Tensor:  # fmt: skip
    """``obj`` as an array: a NumPy array over its memory, SciPy's sparse arrays, objects with
    ``__dlpack__`` or ``__array__``, nested lists, numbers, tensors.

    ``format`` is a tree of levels with its leaf, as in ``Dense(SparseList(Element(0.0)))``.
    ``copy``: True always copies, False raises ``ValueError`` where a copy is needed. The dtype is
    that of the leaf by default, without ``format`` that of ``obj``. Raises ``ValueError`` for
    ragged lists, too, and ``FormatError`` for a dtype that is not supported and for what ``format``
    cannot hold.
    """
    check_device(device)
    found: Tensor = array_of(obj)
    own = isinstance(obj, (list, tuple, *NUMBERS))
    if dtype is not None and np.dtype(dtype) != found.dtype:
        found, own = _array(fn.cast(found, dtype)), True
    format = None if format is None else asked_format(format, dtype)
    if format is not None and not (found.__class__ is Tensor and found.format == format):
        found, own = in_format(found, format), True
    if copy is False and (own or not _is_in_place(obj)) and not isinstance(obj, NUMBERS):
        raise ValueError("this object cannot become such an array without a copy")
    made: Tensor = _array(fn.copied(found)) if copy and not own else found
    return made


def _is_in_place(obj: Any) -> bool:
    """Whether an array, or an object of another library, is read where it is."""
    if hasattr(obj, "signature") or isinstance(obj, np.ndarray):
        return True
    conversion = hub().conversion_of(obj)
    unchanged = None if conversion is None else conversion.unchanged
    return unchanged is not None and unchanged(obj) is not None


def _array(x: Any) -> Any:
    return x if hasattr(x, "signature") else array_of(np.asarray(x))


def check_device(device: Any) -> None:
    """Raise ``ValueError`` for a device other than ``"cpu"``."""
    if device not in DEVICES:
        raise ValueError(f"there is no device {device!r}; arrays are on 'cpu'")


def _given(array: Any, format: Format | None, device: Any, dtype: Any = None) -> Tensor:
    check_device(device)
    found: Tensor = array_of(array)
    return found if format is None else in_format(found, asked_format(format, dtype))


def asked_format(format: Format, dtype: Any) -> Format:
    """``format`` with a leaf of ``dtype``, if one is asked for. Raises ``FormatError`` for one that
    cannot hold the fill."""
    if dtype is None or np.dtype(dtype) == format.dtype:
        return format
    wanted, own = np.dtype(dtype), format.fill_value
    with np.errstate(invalid="ignore"):
        fill = np.asarray(own).astype(wanted)[()]
    rounds = wanted.kind in "fc" and np.can_cast(own.dtype, wanted, "same_kind")
    if not same(fill, own) and not rounds:
        raise FormatError(
            f"the fill {own} of the format does not fit in {wanted}",
            hint="give a format with a fill that the dtype holds, or no dtype=",
        )
    return with_leaf(format, fill, wanted)


def full(
    shape: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    format: Format | None = None,
    device: Any = None,
) -> Tensor:
    """An array of one value; with ``format``, by its levels and with the value as its fill.
    ``dtype`` is that of the value by default; errors are those of ``zeros``."""
    check_device(device)
    sizes = shape_of(shape)
    value = fill_value.value if hasattr(fill_value, "signature") else fill_value
    if dtype is not None:
        check_range(np.dtype(dtype), [value])
    if format is None:
        with memory_for(sizes):
            return _given(np.full(sizes, value, dtype), None, device)
    wanted = np.dtype(dtype) if dtype is not None else np.asarray(value).dtype
    return Tensor(with_leaf(format, np.asarray(value).astype(wanted)[()], wanted), sizes)


def zeros(
    shape: Any, *, dtype: Any = None, format: Format | None = None, device: Any = None
) -> Tensor:
    """An array of zeros of ``shape``, an integer or several; ``dtype`` is float64 by default.
    Raises ``ValueError`` for a negative size, and for a device other than ``"cpu"``, and
    ``OutOfMemory``."""
    return full(
        shape, 0, dtype=np.float64 if dtype is None else dtype, format=format, device=device
    )


def ones(
    shape: Any, *, dtype: Any = None, format: Format | None = None, device: Any = None
) -> Tensor:
    """An array of ones; shape, dtype and errors are those of ``zeros``."""
    return full(
        shape, 1, dtype=np.float64 if dtype is None else dtype, format=format, device=device
    )


def empty(
    shape: Any, *, dtype: Any = None, format: Format | None = None, device: Any = None
) -> Tensor:
    """An array of zeros, as ``zeros`` makes it: no memory is left as it was found."""
    return zeros(shape, dtype=dtype, format=format, device=device)


def full_like(
    x: Any,
    /,
    fill_value: Any,
    *,
    dtype: Any = None,
    format: Format | None = None,
    device: Any = None,
) -> Tensor:
    """An array of one value, by default of the shape, dtype and, if it is sparse, format of ``x``,
    with lists for levels that compute their elements. Raises ``OverflowError`` for an integer that
    the dtype cannot hold."""
    array = array_of(x)
    wanted = array.dtype if dtype is None else dtype
    if format is None and array.__class__ is Tensor and not is_dense(array):
        format = _passing(array.format)
    return full(array.shape, fill_value, dtype=wanted, format=format, device=device)


def _passing(format: Any) -> Any:
    """``format`` with lists for levels that compute their elements: these may have other values
    than the fill where nothing is stored."""
    if format.is_leaf:
        return format
    below = _passing(format.child)
    if not format.passes_values:
        return hub().layout("compressed")(below)
    return format if below is format.child else evolve(format, lvl=below)


def zeros_like(
    x: Any, /, *, dtype: Any = None, format: Format | None = None, device: Any = None
) -> Tensor:
    """``full_like(x, 0)``."""
    return full_like(x, 0, dtype=dtype, format=format, device=device)


def ones_like(
    x: Any, /, *, dtype: Any = None, format: Format | None = None, device: Any = None
) -> Tensor:
    """``full_like(x, 1)``."""
    return full_like(x, 1, dtype=dtype, format=format, device=device)


def empty_like(
    x: Any, /, *, dtype: Any = None, format: Format | None = None, device: Any = None
) -> Tensor:
    """``full_like(x, 0)``."""
    return full_like(x, 0, dtype=dtype, format=format, device=device)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None,
    format: Format | None = None, device: Any = None,
) -> Tensor:  # fmt: skip
    """The numbers from ``start`` up to ``stop`` (from 0 up to ``start`` where ``stop`` is None), a
    vector; ``dtype`` is int64 by default, and float64 where one of them is a float. Raises
    ``ZeroDivisionError`` for the step 0, and ``ValueError`` for ends that are infinite or NaN."""
    first, last = (0, start) if stop is None else (start, stop)
    count = (last - first) / step
    with memory_for([int(count) if math.isfinite(count) else 0]):
        return _given(np.arange(first, last, step, dtype=dtype), format, device, dtype)


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, format: Format | None = None,
    device: Any = None, endpoint: bool = True,
) -> Tensor:  # fmt: skip
    """``num`` numbers from ``start`` to ``stop``, evenly spaced, a vector of float64 by default;
    ``endpoint``: whether ``stop`` is the last of them. Of dense arrays, vectors for each pair of
    their elements, along the first dimension. Raises ``ValueError`` for a negative ``num``, and
    ``FormatError`` for arrays that are not dense."""
    start, stop = _end(start), _end(stop)
    with memory_for((num, *np.shape(start))):
        return _given(np.linspace(start, stop, num, endpoint, dtype=dtype), format, device, dtype)


def _end(end: Any) -> Any:
    """An end of ``linspace``, a number or an array of NumPy."""
    if hasattr(end, "signature") and end.ndim and not is_dense(array_of(end)):
        raise FormatError(
            "linspace is between numbers or dense arrays, and this one is not dense",
            hint="np.asarray(A) makes it dense",
        )
    return in_numpy(end)


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinate matrices of vectors, one for each, of its dtype; those of sparse vectors are runs,
    not dense. Raises ``ValueError`` for an ``indexing`` other than ``"xy"`` and ``"ij"``."""
    from finch_array.manipulation import broadcast_to

    thin, shape = open_grid(arrays, indexing)
    return tuple(broadcast_to(x, shape) if len(shape) > 1 else x for x in thin)


def open_grid(arrays: Sequence[Any], indexing: str) -> tuple[list[Any], tuple[int, ...]]:
    """Each of some vectors along a dimension of its own, beside others of 1, and the shape to which
    they broadcast. Raises ``ValueError`` for another ``indexing``."""
    from finch_array.manipulation import reshape

    given = [array_of(x) for x in arrays]
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij', not {indexing!r}")
    n = len(given)
    place = list(range(n))
    if indexing == "xy" and n > 1:
        place[:2] = 1, 0
    shape = [1] * n
    for k, x in enumerate(given):
        shape[place[k]] = x.size
    thin = [
        reshape(x, tuple(x.size if a == place[k] else 1 for a in range(n)))
        for k, x in enumerate(given)
    ]
    return thin, tuple(shape)


# -- sparse ones ------------------------------------------------------------------------------


def _matrix(
    rows: Any, columns: Any, values: Any, shape: tuple[int, int], format: Format | None, dtype: Any
) -> Tensor:
    found = sorted_tensor(shape, [rows, columns], values, values.dtype.type(0))
    return _given(found, format, None, dtype)


def eye(
    n_rows: int, n_cols: int | None = None, /, k: int = 0, *, dtype: Any = None,
    format: Format | None = None, device: Any = None,
) -> Tensor:  # fmt: skip
    """A matrix of ``n_rows`` by ``n_cols`` (None: square), by default of float64, with ones on
    diagonal ``k`` and zeros elsewhere; only the ones are stored. Raises ``ValueError`` for a
    negative size."""
    check_device(device)
    n, m = operator.index(n_rows), operator.index(n_rows if n_cols is None else n_cols)
    if min(n, m) < 0:
        raise ValueError(f"the sizes of eye are not negative, as {(n, m)} is")
    k = min(max(operator.index(k), -n), m)  # diagonals beyond these are empty
    first, last = max(0, -k), max(0, -k, min(n, m - k))
    with memory_for([last - first]):
        rows = np.arange(first, last)
        return _matrix(rows, rows + k, np.ones(len(rows), dtype), (n, m), format, dtype)


def diags(
    diagonals: Any, offsets: Any = 0, /, *, shape: tuple[int, int] | None = None, dtype: Any = None,
    format: Format | None = None,
) -> Tensor:  # fmt: skip
    """A matrix with these diagonals, at ``offsets`` from the main one (SciPy: ``diags_array``); a
    number fills its diagonal, and of a sparse vector what it stores is stored. Raises
    ``ValueError`` for a diagonal of another length than ``shape`` has there."""
    places = [
        operator.index(k) for k in (offsets if isinstance(offsets, (tuple, list)) else (offsets,))
    ]
    lists = diagonals if isinstance(offsets, (tuple, list)) else (diagonals,)
    parts = [_diagonal(d) for d in lists]
    if len(parts) != len(places):
        raise ValueError(f"{len(parts)} diagonals at {len(places)} offsets")
    if shape is None:
        n = parts[0][0] + abs(places[0])
        shape = (n, n)
    rows, columns, values = [], [], []
    for (length, at, part), k in zip(parts, places, strict=True):
        first, last = max(0, -k), max(0, -k, min(shape[0], shape[1] - k))
        if length not in (1, last - first):
            raise ValueError(
                f"the diagonal at {k} has {length} elements; in {shape} it has {last - first}"
            )
        whole = at is None or (length != last - first and len(at))  # a number fills it
        r = np.arange(first, last) if whole else at + first
        rows.append(r)
        columns.append(r + k)
        values.append(np.broadcast_to(part, r.shape))
    found = np.concatenate(values)
    found = found.astype(dtype) if dtype is not None else found
    return _matrix(np.concatenate(rows), np.concatenate(columns), found, shape, format, dtype)


def _diagonal(x: Any) -> tuple[int, Any, Any]:
    """The length of a diagonal, and the places and values of what it stores; None: of all."""
    array = array_of(x) if isinstance(x, ArrayMethods) else None
    if array is not None and array.ndim == 1 and not is_dense(array) and array.fill_value == 0:
        (length,), (at,), values = coordinates(array)
        return length, at, values
    values = np.atleast_1d(np.asarray(x))
    return len(values), None, values


def tril(x: Any, /, k: int = 0) -> Any:
    """The part of matrices on and below diagonal ``k``, with the shape and dtype of ``x``; the rest
    is 0. Raises ``ValueError`` for an array of fewer than two dimensions."""
    return _triangle(x, -MOST_INDICES, k)


def triu(x: Any, /, k: int = 0) -> Any:
    """The part of matrices on and above diagonal ``k``, with the shape and dtype of ``x``; the rest
    is 0. Raises ``ValueError`` for an array of fewer than two dimensions."""
    return _triangle(x, k, MOST_INDICES)


def _triangle(x: Any, low: int, high: int) -> Any:
    """The elements of matrices between two diagonals; the rest is 0."""
    array = array_of(x)
    if array.ndim < 2:
        raise ValueError(f"an array of shape {array.shape} is no matrix")
    zero = array.dtype.type(0)

    def inside(i: Any, j: Any) -> Any:
        return (low <= j - i) & (j - i <= high)

    if is_dense(array):
        n, m = array.shape[-2:]
        kept = inside(np.arange(n)[:, None], np.arange(m))
        return array_of(np.where(kept, array.to_numpy(), zero))
    if moves_in_pieces(array) or not alike(array.fill_value, zero):
        return fn.where(BandMask(low, high), array, zero)
    shape, coords, values = coordinates(array)
    (kept,) = inside(coords[-2], coords[-1]).nonzero()
    return sorted_tensor(
        shape, [c[kept] for c in coords], values[kept], zero, of=(array,),
        in_order=array.__class__ is Tensor,
    )  # fmt: skip


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array over the memory of an object with ``__dlpack__``; ``copy`` as in ``asarray``. An
    object on another device is copied with ``device="cpu"``, and raises ``BufferError`` without.
    Raises ``AttributeError`` for an object without ``__dlpack__``."""
    check_device(device)
    if hasattr(x, "signature"):
        return asarray(x, copy=copy)
    return array_of(devices.from_dlpack(x, device, copy))


def from_coo(
    coords: Any, values: Any, shape: Any, *, fill_value: Any = 0, format: Format | None = None
) -> Tensor:
    """An array from coordinates, one array of integers for each dimension (or the rows of one), and
    as many values, or one value for all; the values of equal coordinates are added. Without a
    ``format``, the last dimensions are lists, and the first one is dense, as in CSR, unless it has
    many more indices than there are values: then only those that store something take memory.

    Raises ``TypeError`` for coordinates that are no integers, ``DimensionMismatch`` for arrays of
    different lengths or not one for each dimension, and ``FormatError`` beyond ``shape`` and for a
    fill that the dtype of the values cannot hold.
    """
    found, sizes = np.asarray(values), shape_of(shape)
    places = [np.asarray(c) for c in coords]
    if not found.ndim and places:
        found = np.full(places[0].shape, found)
    _check_coordinates(places, found, len(sizes))
    fill = np.asarray(fill_value, found.dtype)[()]
    if fill != fill_value and fill == fill:
        raise FormatError(
            f"the fill {fill_value} does not fit in {found.dtype}",
            hint="give fill_value= of that dtype, or values of a dtype that holds the fill",
        )
    if format is None:
        dense = [False] * len(sizes)
        if len(sizes) > 1:
            dense[0] = is_short(sizes[0], len(found))
        format = format_of(dense, fill, found.dtype)
    return from_coordinates(format, sizes, places, found)


def _check_coordinates(places: list[Any], values: Any, ndim: int) -> None:
    if len(places) != ndim:
        raise DimensionMismatch(f"{len(places)} arrays of coordinates for {ndim} dimensions")
    for k, place in enumerate(places):
        if place.dtype.kind not in "iu" and place.size:
            raise TypeError(f"the coordinates of dimension {k} are {place.dtype}, not integers")
        if place.shape != values.shape or place.ndim != 1:
            raise DimensionMismatch(
                f"coordinates of dimension {k} and values have shapes {place.shape} and "
                f"{values.shape}, not one length"
            )


def random(
    shape: Any, density: float = 0.01, *, format: Format | None = None, dtype: Any = None,
    rng: Any = None,
) -> Tensor:  # fmt: skip
    """An array of ``shape`` of which ``density`` of the elements, at random places, are numbers
    from 0 to 1 (of integer dtypes: any numbers), the rest 0. ``dtype`` is float64 by default,
    ``rng`` a generator or a seed. Raises ``ValueError`` for a density that is not from 0 to 1."""
    wanted, sizes = np.dtype(np.float64 if dtype is None else dtype), shape_of(shape)
    if not 0 <= density <= 1:
        raise ValueError(f"a density is from 0 to 1, not {density}")
    generator = np.random.default_rng(rng)
    total = math.prod(sizes)
    count = round(total * density)
    if total > np.iinfo(np.int64).max:
        raise ValueError(f"an array of shape {sizes} has too many elements to draw from")
    places = _distinct(generator, total, count)
    values = _drawn(generator, wanted, count)
    if not sizes:
        return _given(values[0] if count else wanted.type(0), format, None, dtype)
    found = sorted_tensor(
        sizes, np.unravel_index(places, sizes), values, wanted.type(0), in_order=True
    )
    return _given(found, format, None, dtype)


def _distinct(generator: Any, total: int, count: int) -> Any:
    """``count`` distinct numbers below ``total``, sorted."""
    if total <= 8 * count:
        return np.sort(generator.permutation(total)[:count])
    found = np.unique(generator.integers(0, total, count))
    while len(found) < count:
        more = generator.integers(0, total, count - len(found))
        found = np.unique(np.concatenate([found, more]))
    return found


def _drawn(generator: Any, dtype: np.dtype[Any], count: int) -> Any:
    if dtype.kind == "b":
        return np.ones(count, bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return generator.integers(info.min, info.max, count, dtype, endpoint=True)
    drawn = generator.random(count)
    return (drawn + 1j * generator.random(count) if dtype.kind == "c" else drawn).astype(dtype)
