"""Functions of NumPy that the array API standard does not have, on tensors: by ``np.f(A)``, and
what libraries call on chunks of arrays (``docs/neighbours.md``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from finch_array import functions as fn
from finch_array import reductions as red
from finch_array import searching
from finch_array.assignment import setitem
from finch_array.axes import axis_of, shape_of
from finch_array.creation import asarray, full, tril, triu
from finch_array.indexing import take, take_along_axis
from finch_array.joining import framed, moves_in_pieces
from finch_array.leaves import same
from finch_array.linalg import diagonal as last_diagonal
from finch_array.manipulation import atleast_nd, broadcast_to, concat, moveaxis, permute_dims
from finch_array.numpy_shapes import ravel
from finch_array.operands import array_of, entries, in_numpy, is_dense
from finch_array.ready import warn_dense
from finch_array.run import coordinates, is_short, sorted_tensor
from finch_core.errors import DimensionMismatch
from finch_core.runtime.compressed import coordinate_format
from finch_core.runtime.tensor import Tensor, checked_shape

# -- creation ---------------------------------------------------------------------------------


def like_array(x: Any, dtype: Any = None, *, copy: Any = None, ndmin: int = 0, **_: Any) -> Any:
    """``np.asarray(x, like=A)``: a tensor, ``x`` itself if it is one."""
    found = asarray(x, dtype=dtype, copy=copy or None)
    return atleast_nd(found, ndmin) if found.ndim < ndmin else found


def own_array(x: Any, dtype: Any = None, *, copy: Any = True, **options: Any) -> Any:
    """``np.array(x, like=A)``: a tensor of its own."""
    return like_array(x, dtype, copy=copy, **options)


def filled_like(
    x: Any, value: Any, dtype: Any = None, order: Any = None, subok: Any = True, shape: Any = None,
    device: Any = None,
) -> Any:  # fmt: skip
    """``np.full_like``: of the levels of ``x`` where the shape has as many dimensions, else by its
    coordinates; dense if ``x`` is. Raises ``TypeError`` for a dtype that tensors do not have."""
    array = array_of(x)
    wanted = _dtype(array.dtype if dtype is None else dtype)
    sizes = array.shape if shape is None else shape_of(shape)
    if is_dense(array):
        return full(sizes, value, dtype=wanted)
    if array.__class__ is Tensor and len(sizes) == array.ndim:
        return full(sizes, value, dtype=wanted, format=array.format)
    fill = np.asarray(value).astype(wanted)[()]
    return Tensor(coordinate_format(len(sizes), fill, wanted), sizes)


def _dtype(dtype: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(dtype)
    if found.kind not in "biufc":
        raise TypeError(f"{found} is no dtype of tensors")
    return found


def _constant(value: Any) -> Callable[..., Any]:
    def made(x: Any, dtype: Any = None, *rest: Any, **options: Any) -> Any:
        return filled_like(x, value, dtype, *rest, **options)

    return made


def _sized(value: float) -> Callable[..., Any]:
    def made(shape: Any, dtype: Any = None, order: Any = "C", **_: Any) -> Any:
        return full(shape, value, dtype=np.float64 if dtype is None else dtype)

    return made


def diag(x: Any, k: int = 0) -> Any:
    """A diagonal of a matrix, or the matrix with a vector on diagonal ``k``, which stores what the
    vector stores. Raises ``DimensionMismatch`` for other numbers of dimensions."""
    array = array_of(x)
    if array.ndim not in (1, 2):
        raise DimensionMismatch(
            f"diag of an array of {array.ndim} dimensions: it is of vectors and matrices",
            hint="np.diagonal takes diagonals of stacks of matrices",
        )
    if array.ndim != 1:
        return last_diagonal(array, offset=k)
    (n,), (place,), values = coordinates(array)
    fill = array.dtype.type(0)
    if array.fill_value != 0:
        place, values = np.arange(n), array.to_numpy()
    size = n + abs(k)
    found = [place + max(-k, 0), place + max(k, 0)]
    return sorted_tensor((size, size), found, values, fill, of=(array,))


def _triangle(own: Callable[..., Any]) -> Callable[..., Any]:
    """``np.tril`` or ``np.triu``: of a vector, the triangle of the matrix with rows like it."""

    def part(m: Any, k: int = 0) -> Any:
        array = array_of(m)
        if array.ndim == 1:
            array = broadcast_to(array, (array.size, array.size))
        return own(array, k=k)

    return part


def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix with all elements of ``v`` on diagonal ``k``."""
    return diag(ravel(v), k)


def axes_diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Diagonal ``offset`` of the dimensions ``axis1`` and ``axis2``, as the last one. Raises
    ``DimensionMismatch`` for fewer than two dimensions."""
    array = array_of(x)
    if array.ndim > 1:
        array = moveaxis(array, (axis1, axis2), (-2, -1))
    return last_diagonal(array, offset=offset)


def axes_trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum of diagonal ``offset`` of the dimensions ``axis1`` and ``axis2``, in ``dtype``."""
    return red.sum(axes_diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


# -- shapes -----------------------------------------------------------------------------------


def pad(x: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = None) -> Any:
    """``x`` with more around it: ``constant_values`` (None: 0; a pair of numbers for the two ends,
    or one for each axis), or its own elements, as the modes ``edge``, ``wrap``, ``reflect`` and
    ``symmetric`` of NumPy choose them. Raises ``ValueError`` for another mode, numbers that it does
    not take, negative widths, and elements of an axis that has none, ``TypeError`` for widths that
    are no integers."""
    if mode != "constant" and mode not in _REPEATED:
        modes = ", ".join(map(repr, ("constant", *_REPEATED)))
        raise ValueError(f"pad has the modes {modes}, not {mode!r}")
    if mode != "constant" and constant_values is not None:
        raise ValueError(f"pad of the mode {mode!r} takes no constant_values=")
    constant_values = 0 if constant_values is None else constant_values
    array = array_of(x)
    if isinstance(pad_width, dict):
        given = {axis_of(k, array.ndim): v for k, v in pad_width.items()}
        pad_width = [given.get(k, 0) for k in range(array.ndim)]
        pad_width = [(w, w) if isinstance(w, int) else w for w in pad_width]
    if is_dense(array):
        options = {"constant_values": constant_values} if mode == "constant" else {}
        return array_of(np.pad(array.to_numpy(), pad_width, cast(Any, mode), **options))
    if np.asarray(pad_width).dtype.kind not in "iu":
        raise TypeError(f"the widths of pad are integers, not {pad_width!r}")
    widths = np.broadcast_to(pad_width, (array.ndim, 2)).tolist()
    if any(min(pair) < 0 for pair in widths):
        raise ValueError(f"the widths {widths} are negative")
    shape = tuple([n + sum(pair) for n, pair in zip(array.shape, widths, strict=True)])
    shape = checked_shape(shape, array.ndim)
    if mode != "constant":
        return _repeated(array, widths, _REPEATED[mode])
    if np.ndim(constant_values):
        return _padded_in_turn(array, widths, constant_values)
    value = np.asarray(constant_values).astype(array.dtype)[()]
    if moves_in_pieces(array) or not same(value, array.fill_value):
        return framed(array, widths, value) if any(map(any, widths)) else fn.copied(array)
    _, coords, values = coordinates(array)
    for coord, (before, _) in zip(coords, widths, strict=True):
        coord += before
    in_order = array.__class__ is Tensor
    return sorted_tensor(shape, coords, values, array.fill_value, of=(array,), in_order=in_order)


def _padded_in_turn(array: Any, widths: list[list[int]], values: Any) -> Any:
    """``array`` with numbers of their own at the ends of its axes, those of later axes also around
    those of earlier ones."""
    numbers = np.broadcast_to(values, (array.ndim, 2))
    for axis, end in np.ndindex(numbers.shape):
        if widths[axis][end]:
            one = np.zeros(numbers.shape, np.intp)
            one[axis, end] = widths[axis][end]
            array = pad(array, one, constant_values=numbers[axis, end])
    return array


def _repeated(
    array: Any, widths: list[list[int]], places: Callable[[np.ndarray[Any, Any], int], Any]
) -> Any:
    """``array`` with its own elements around it. ``places`` gives the indices of an axis of ``n``
    elements that stand at positions outside of it."""
    result = fn.copied(array)
    for axis, (before, after) in enumerate(widths):
        n = array.shape[axis]
        if before + after == 0:
            continue
        if n == 0:
            raise ValueError(f"axis {axis} has no elements that could be repeated around it")
        if is_short(n, entries(array)):  # one vector of indices costs less than joining three parts
            at = np.arange(-before, n + after)
            result = take(result, np.where((at >= 0) & (at < n), at, places(at, n)), axis)
            continue
        sides = [places(np.arange(-before, 0), n), places(np.arange(n, n + after), n)]
        first, last = [take(result, side, axis) for side in sides]
        result = concat([first, result, last], axis)
    return result


def _reflected(at: np.ndarray[Any, Any], n: int) -> Any:
    period = max(1, 2 * n - 2)
    return np.minimum(at % period, -at % period)


_REPEATED: dict[str, Callable[[np.ndarray[Any, Any], int], Any]] = {
    "edge": lambda at, n: np.clip(at, 0, n - 1),
    "wrap": lambda at, n: at % n,
    "reflect": _reflected,
    "symmetric": lambda at, n: np.minimum(at % (2 * n), -(at + 1) % (2 * n)),
}
"""The modes of ``pad`` that repeat elements: the indices that stand at positions outside."""


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """``x`` with two dimensions exchanged, without a copy."""
    array = array_of(x)
    order = list(range(array.ndim))
    a, b = axis_of(axis1, array.ndim), axis_of(axis2, array.ndim)
    order[a], order[b] = b, a
    return permute_dims(array, order)


def along_axis(x: Any, indices: Any, axis: Any = -1) -> Any:
    """``np.take_along_axis``: without ``axis``, of all elements in a row. Raises
    ``DimensionMismatch``, a ``ValueError``, for indices of them that are no vector."""
    if axis is not None:
        return take_along_axis(x, indices, axis=axis)
    if np.ndim(indices) != 1:
        raise DimensionMismatch(
            f"without axis, the indices are a vector, not of {np.ndim(indices)} dimensions"
        )
    return take_along_axis(ravel(x), indices, axis=0)


# -- elementwise functions of NumPy -------------------------------------------------------------


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The number of the bin of each element. Raises ``DimensionMismatch`` unless ``bins`` is a
    vector."""
    edges = np.asarray(bins)
    if edges.ndim != 1:
        raise DimensionMismatch(f"the bins of digitize are a vector, not of shape {edges.shape}")
    return searching.mapped(array_of(x), lambda values: np.digitize(values, edges, right))


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """The values at ``x`` of the function that is linear between the points ``xp``, where it is
    ``fp``: in the levels of ``x``. Raises what NumPy raises."""
    points, values = in_numpy(xp), in_numpy(fp)
    return searching.mapped(
        array_of(x), lambda v: np.interp(v, points, values, left, right, period)
    )


def polyval(p: Any, x: Any) -> Any:
    """The values at ``x`` of the polynomial with the coefficients ``p``, the highest first: in the
    levels of ``x``."""
    coefficients = in_numpy(p)
    return searching.mapped(array_of(x), lambda values: np.polyval(coefficients, values))


def sinc(x: Any) -> Any:
    """The sine of pi times ``x``, over that, in the levels of ``x``: 1 where ``x`` is 0."""
    return searching.mapped(array_of(x), np.sinc)


def isin(x: Any, elements: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether each element of ``x`` is one of ``elements``."""
    return searching.isin(x, elements, invert=invert)


def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """``x`` with finite numbers in the place of NaN and infinities; ``copy=False``: ``x`` itself,
    which has them in its format."""
    found = searching.mapped(
        array_of(x), lambda values: np.nan_to_num(values, True, nan, posinf, neginf)
    )
    if copy:
        return found
    setitem(x, ..., found)
    return x


# -- order ------------------------------------------------------------------------------------


def partition(x: Any, kth: Any, axis: int | None = -1) -> Any:
    """``x`` sorted along ``axis``, which is one of its partitions. Raises ``ValueError`` for a
    ``kth`` that there is not."""
    array, axis = _to_partition(x, kth, axis)
    return searching.sort(array, axis=axis)


def argpartition(x: Any, kth: Any, axis: int | None = -1) -> Any:
    """The indices that sort ``x`` along ``axis``. Raises ``ValueError`` for a ``kth`` that there is
    not."""
    array, axis = _to_partition(x, kth, axis)
    return searching.argsort(array, axis=axis)


def _to_partition(x: Any, kth: Any, axis: int | None) -> tuple[Any, int]:
    """An array, and the axis along which it has an element ``kth``, or several."""
    array, axis = (ravel(x), -1) if axis is None else (array_of(x), axis)
    n = array.shape[axis_of(axis, array.ndim)]
    for k in np.ravel(in_numpy(kth)).tolist():
        if not -n <= k < n:
            raise ValueError(f"kth(={k}) out of bounds ({n})")
    return array, axis


def unique(x: Any, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, axis: Any = None, *, equal_nan: bool = True,
           sorted: bool = True) -> Any:  # fmt: skip
    """The distinct elements, sorted, NaN once unless ``equal_nan=False``, as NumPy arrays. The
    inverse has an index for each element, and with ``axis`` rows are compared: both are dense, and
    give a ``PerformanceWarning`` where they are large. Raises ``DimensionMismatch`` for more
    elements than an index tells apart, and ``OutOfMemory``."""
    array, plainly = array_of(x), cast(Any, np.unique)
    asked = return_index, return_inverse, return_counts
    if axis is not None:
        _warn_dense(array, array.dtype, "without axis= it takes memory for what is stored")
        return plainly(array.to_numpy(), *asked, axis, equal_nan=equal_nan)
    if return_index or return_inverse:
        if is_dense(array):
            return plainly(array.to_numpy(), *asked, equal_nan=equal_nan)
        if return_inverse:
            _warn_dense(array, np.intp, "the inverse of fa.unique_all is sparse")
        found, index, inverse, counts = searching.unique_parts(array, equal_nan)
        parts = [found, index if return_index else None, inverse if return_inverse else None,
                 counts if return_counts else None]  # fmt: skip
        return tuple([part.to_numpy() for part in parts if part is not None])
    found, counts = (part.to_numpy() for part in searching.unique_counts(array))
    nan = np.isnan(found) if found.dtype.kind in "fc" and equal_nan else found
    if nan is not found and nan.any():  # they are last
        first = int(nan.argmax())
        counts = np.append(counts[:first], counts[first:].sum())
        found = found[: first + 1]
    return (found, counts) if return_counts else found


def _warn_dense(array: Any, dtype: Any, hint: str) -> None:
    if not is_dense(array):
        warn_dense("unique", array.shape, dtype, [array], hint)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.array: own_array, np.asarray: like_array, np.asanyarray: like_array,
    np.full_like: filled_like, np.zeros_like: _constant(0), np.ones_like: _constant(1),
    np.empty_like: _constant(0), np.zeros: _sized(0), np.ones: _sized(1), np.empty: _sized(0),
    np.diag: diag, np.diagonal: axes_diagonal, np.trace: axes_trace,
    np.swapaxes: swapaxes, np.diagflat: diagflat,
    np.digitize: digitize, np.interp: interp, np.polyval: polyval, np.sinc: sinc,
    np.isin: isin,
    np.take_along_axis: along_axis, np.nan_to_num: nan_to_num,
    np.partition: partition,
    np.argpartition: argpartition, np.unique: unique, np.pad: pad,
    np.tril: _triangle(tril), np.triu: _triangle(triu),
}  # fmt: skip
"""The function of this package for each of NumPy's."""

__all__ = ["FUNCTIONS"]
