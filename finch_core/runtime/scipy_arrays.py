"""Conversions to and from SciPy's sparse arrays, sharing memory where the layout allows."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.interface.storage import holding
from finch_core.runtime.compressed import coordinate_format
from finch_core.runtime.convert import (
    check_range,
    from_coordinates,
    kernel_of,
    stored_coordinates,
)
from finch_core.runtime.devices import device_of, refused, way_here
from finch_core.runtime.remembered import are_same
from finch_core.runtime.sorting import in_order_of, sorting, starts_of
from finch_core.runtime.tensor import Tensor

_seen: dict[int, tuple[Any, tuple[Any, ...], Any]] = {}
"""SciPy arrays that are read in place, by id: a weak reference, the shape and the ids of the parts
when they were checked, and the tensor over these."""


def from_scipy(array: Any) -> Any:
    """A tensor of a SciPy sparse array: over its memory for CSR, for CSC seen transposed, for
    coordinates that are sorted by the first dimension, then the next, without duplicates, and for
    diagonals in order, each as long as a row.

    Changes of its values are visible in the tensor. The structure (``indices``, ``indptr``,
    ``coords``) is checked at the first use, and again if the shape changed or one of the arrays was
    replaced, as SciPy's methods do. Changing elements of these arrays in place is not noticed: copy
    the array first. Arrays that are unsorted, have duplicates or another format are converted:
    their entries are sorted, and duplicates added. The order of coordinates is remembered as long
    as no byte of them changes, and a kernel keeps the copy as long as no byte of the array does
    (``runtime/remembered.py``).

    Raises ``FormatError`` for a malformed structure, an unknown format, an unsupported dtype, and
    an array of another library whose parts are no arrays of NumPy.
    """
    if array.format not in _OVER or (array.ndim != 2 and array.format != "coo"):
        return _converted(array)
    known = _in_place(array)
    if known is not None:
        return known
    _check_parts(array)
    try:
        tensor = _OVER[array.format](array)
    except FormatError as error:
        return _converted(array) if array.format == "coo" else _over(_sorted(array, error))
    if tensor is None:
        return _converted(array)
    if array.format == "dia" and not np.shares_memory(tensor.named_arrays()["2_val"], array.data):
        return tensor  # its values were put in order, so that others would not be seen
    key = id(array)
    _seen[key] = (weakref.ref(array, lambda _: _seen.pop(key, None)), _identity(array), tensor)
    return tensor


def _check_parts(array: Any) -> None:
    """Raise ``FormatError`` for an array that has SciPy's methods and no arrays of NumPy: it is of
    another library, on a device perhaps; and for coordinates of several lengths."""
    values = getattr(array, "data", None)
    if values is None:
        return
    if isinstance(values, np.ndarray):
        lengths = [len(part) for part in _coords(array)] if array.format == "coo" else []
        if any(length != len(values) for length in lengths):
            raise FormatError(
                f"the values of this {type(array).__name__} are {len(values)}, and its coordinates "
                f"{' and '.join(map(str, lengths))}",
                hint="its coords and data were replaced: make another array of them",
            )
        return
    if place := device_of(values):
        raise refused(array, place)
    raise FormatError(
        f"the values of this {type(array).__name__} are no array of NumPy, but "
        f"{type(values).__module__}.{type(values).__name__}",
        hint=way_here(array),
    )


def _identity(array: Any) -> tuple[Any, ...]:
    return (array.shape, *(id(getattr(array, name)) for name in _parts(array)))


def _in_place(array: Any) -> Any:
    """The tensor over the memory of an array that has been checked; None if there is none."""
    known = _seen.get(id(array))
    if known is not None and known[0]() is array and known[1] == _identity(array):
        return known[2]
    return None


def state(array: Any) -> tuple[Any, list[Any]] | None:
    """What the value of an array that is converted depends on: its format and shape, and its
    arrays; None for one that is read in place, or made of Python's objects."""
    if array.format in ("dok", "lil") or _in_place(array) is not None:
        return None
    found = [getattr(array, name) for name in dict.fromkeys(_parts(array))]
    arrays = [a for part in found for a in (part if isinstance(part, tuple) else (part,))]
    return (array.format, array.shape), arrays


def _parts(array: Any) -> tuple[str, str, str]:
    """The names of the arrays of which an array is made."""
    if array.format == "dia":
        return "data", "offsets", "offsets"
    if array.format != "coo":
        return "data", "indices", "indptr"
    return ("data", "coords", "coords") if hasattr(array, "coords") else ("data", "row", "col")


def unchanged(array: Any) -> Callable[[], bool] | None:
    """A function that says whether an array that is read in place still has its shape and its
    parts; None for one that is converted at each use."""
    from_scipy(array)
    if id(array) not in _seen:
        return None
    names, shape = _parts(array), array.shape
    one, two, three = names
    first, second, third = (getattr(array, name) for name in names)
    parts = vars(array)  # SciPy's properties cost as much as a small kernel
    if parts.get("_shape") != shape or not parts.keys() >= set(names):
        return None

    def holds() -> bool:
        return (
            parts[one] is first
            and parts[two] is second
            and parts[three] is third
            and parts["_shape"] == shape
        )

    return holds


def _sorted(array: Any, error: FormatError) -> Any:
    """A copy with sorted indices and duplicates added. Raises ``error`` if the structure is invalid
    in another way."""
    try:
        array.check_format(full_check=True)
    except ValueError:
        raise error from None
    array = array.copy()
    array.has_canonical_format = False
    array.sum_duplicates()
    return array


def _converted(array: Any) -> Any:
    """A tensor with a copy of an array that is not read in place."""
    _check_parts(array)
    known = ("coo", "dok", "lil", "dia", "bsr", *["csr"] * (array.ndim == 1))
    if array.format not in known:
        if hasattr(array, "to_scipy_sparse"):  # of another library, which has tocoo, too
            return hub().conversion("sparse protocol").take(array)
        raise FormatError(f"SciPy arrays of format {array.format!r} are not supported")
    if array.format == "coo":
        return _in_remembered_order(array)
    coo = array.tocoo()
    return _of_coordinates(coo.shape, _coords(coo), coo.data)


def _of_coordinates(
    shape: tuple[int, ...], coords: Sequence[Any], values: Any, *, owned: bool = False
) -> Any:
    """A tensor of coordinates: in rows, where there are not far more of them than values;
    ``owned``: in their memory."""
    format = csr_format(len(shape), values.dtype)
    if is_hypersparse(shape, len(values)):
        format = coordinate_format(len(shape), format.fill_value)
    return from_coordinates(format, shape, list(coords), values, owned=owned)


def coordinates(array: Any) -> tuple[tuple[int, ...], list[Any], Any] | None:
    """The shape, the coordinates and the values of a COO array; None for one of another format."""
    if array.format != "coo":
        return None
    _check_parts(array)
    return tuple(map(int, array.shape)), list(_coords(array)), array.data


_orders: dict[int, tuple[Any, tuple[Any, ...], tuple[Any, ...], Any, Any, Any]] = {}
"""Unsorted SciPy arrays, by id: a weak reference, the shape and dtype, copies of the coordinates, a
tensor of the values when it was made, the order of its values in the array, and where equal ones
start."""


def _in_remembered_order(array: Any) -> Any:
    """A tensor of coordinates in any order, which are sorted at the first use alone."""
    key, kind, coords = id(array), (array.shape, array.data.dtype), _coords(array)
    known = _orders.get(key)
    if known is not None:
        ref, *seen, model, order, starts = known
        if ref() is array and seen[0] == kind and are_same(coords, seen[1]):
            made = model.copy()
            made.named_arrays()[f"{array.ndim}_val"][:] = in_order_of(array.data, order, starts)
            return made
    if not (array.ndim and len(array.data)):
        return _of_coordinates(array.shape, coords, array.data)
    check_range(array.shape, coords)
    order = sorting(array.shape, list(coords), kernel_of)
    taken = [c[order] for c in coords]
    starts = starts_of(taken)
    if len(starts) < len(order):
        taken = [c[starts] for c in taken]
    values = in_order_of(array.data, order, starts)
    made = _of_coordinates(array.shape, taken, values, owned=True)
    ref = weakref.ref(array, lambda _: _orders.pop(key, None))
    _orders[key] = ref, kind, tuple(c.copy() for c in coords), made.copy(), order, starts
    return made


FEW_ROWS = 1 << 20
"""Number of rows up to which a matrix has a pointer for each row, however few are non-empty."""


def is_hypersparse(shape: tuple[int, ...], stored: int) -> bool:
    """Whether a tensor has so many more rows than stored values that rows should be compressed,
    too."""
    return len(shape) > 1 and shape[0] > max(FEW_ROWS, 8 * stored)


def _over(array: Any) -> Any:
    """A tensor over the three arrays of a CSR or CSC array."""
    shape = array.shape if array.format == "csr" else array.shape[::-1]
    indices = holding(array.indices, shape[1])
    format = csr_format(2, array.dtype, indices.dtype, array.indptr.dtype)
    buffers = {"1_ptr": array.indptr, "1_idx": indices, "2_val": array.data}
    tensor = Tensor.from_buffers(format, shape, buffers)
    return tensor if array.format == "csr" else transpose(tensor)


def _coords(array: Any) -> tuple[Any, ...]:
    """The coordinates of a SciPy array, one NumPy array for each dimension."""
    return tuple(array.coords) if hasattr(array, "coords") else (array.row, array.col)


def _over_coordinates(array: Any) -> Any:
    """A tensor over the arrays of a COO array; None if no installed format has coordinates, and
    ``FormatError`` unless the coordinates are sorted and unique."""
    coords = [holding(coord, max(array.shape, default=0)) for coord in _coords(array)]
    format = coo_format(array.dtype, [coord.dtype for coord in coords])
    if format is None:
        return None
    buffers = {f"{k}_idx": coord for k, coord in enumerate(coords)}
    buffers["0_ptr"] = np.array([0, len(array.data)])
    return Tensor.from_buffers(format, array.shape, {**buffers, f"{array.ndim}_val": array.data})


def coo_format(dtype: Any, index: list[Any]) -> Format | None:
    """The format of SciPy's coordinates with these dtypes of values and of indices; None if no
    plugin has it."""
    level = level_with("coordinates")
    if level is None:
        return None
    format: Format = hub().layout("values")(np.zeros((), dtype)[()])
    for wide in reversed(index):
        format = level(format, index=wide)
    return format


def _over_diagonals(array: Any) -> Any:
    """A tensor of a DIA array, over its values where they are laid out as the level has them; None
    if no installed format has diagonals."""
    level, (rows, columns) = level_with("diagonals"), array.shape
    if level is None:
        return None
    offsets, values = array.offsets.astype(np.intp), array.data
    if (np.diff(offsets) <= 0).any() or (offsets <= -rows).any() or (offsets >= columns).any():
        kept = np.flatnonzero((offsets > -rows) & (offsets < columns))
        order = kept[np.argsort(offsets[kept])]
        offsets, values = offsets[order], values[order]
    if values.shape[1] != columns:
        padded = np.zeros((len(offsets), columns), values.dtype)
        least = min(columns, values.shape[1])
        padded[:, :least] = values[:, :least]
        values = padded
    format = hub().layout("dense")(level(hub().layout("values")(np.zeros((), values.dtype)[()])))
    buffers = {"1_num": np.array([len(offsets)]), "1_ofs": offsets, "2_val": values.reshape(-1)}
    return Tensor.from_buffers(format, (rows, columns), buffers)


def level_with(layout: str) -> Any:
    """The installed level with this layout; None if there is none, or several."""
    found = [f for f in hub().levels.values() if getattr(f, "layout", "") == layout]
    return found[0] if len(found) == 1 else None


_OVER: dict[str, Callable[[Any], Any]] = {
    "csr": _over, "csc": _over, "coo": _over_coordinates, "dia": _over_diagonals,
}  # fmt: skip


def transpose(tensor: Tensor) -> Any:
    """A view of a matrix with its two dimensions exchanged. Raises ``FormatError`` if no wrapper
    that permutes dimensions is installed."""
    for wrapper in hub().wrappers.values():
        if getattr(wrapper, "permutes", False):
            return wrapper.wrap(tensor, (1, 0))
    raise FormatError(
        "no wrapper that permutes dimensions is installed", hint="convert to CSR first, A.tocsr()"
    )


def csr_format(ndim: int, dtype: Any, index: Any = np.intp, pointer: Any = np.intp) -> Format:
    """The format with a dense outermost level and compressed levels below: CSR for a matrix. With
    one dimension it is compressed. ``index`` and ``pointer`` are integer dtypes."""
    compressed = hub().layout("compressed")
    format: Format = hub().layout("values")(np.zeros((), dtype)[()])
    for k in reversed(range(ndim)):
        if k == 0 and ndim > 1:
            format = hub().layout("dense")(format)
        else:
            format = compressed(format, index=index, pointer=pointer)
    return format


def to_scipy(tensor: Tensor) -> Any:
    """A SciPy sparse array of a tensor's values: a ``csr_array`` for a matrix, over the tensor's
    memory if it is stored as CSR, else a copy; a ``coo_array`` for other tensors, hypersparse
    matrices and those of coordinates, over the memory of the latter. Raises ``FormatError`` if the
    fill value is not 0."""
    import scipy.sparse

    if tensor.fill_value != 0:
        raise FormatError(
            f"SciPy's sparse arrays leave out zeros, and the fill value is {tensor.fill_value}",
            hint="to_numpy() gives a dense array",
        )
    layouts = [getattr(level, "layout", "") for level in tensor.format.levels()]
    if set(layouts[:-1]) == {"coordinates"} and layouts[-1] == "values":
        buffers, shape = tensor.buffers, tensor.shape
        indices = tuple(buffers[f"{k}_idx"] for k in range(tensor.ndim))
        return scipy.sparse.coo_array((buffers[f"{tensor.ndim}_val"], indices), shape=shape)
    in_rows = layouts == ["dense", "compressed", "values"]
    if tensor.ndim != 2 or (not in_rows and is_hypersparse(tensor.shape, tensor.nstored)):
        shape, coords, values = stored_coordinates(tensor)
        return scipy.sparse.coo_array((values, tuple(coords)), shape=shape)
    if not in_rows:
        tensor = Tensor(csr_format(2, tensor.dtype), tensor)
    parts = tensor.buffers
    arrays = (parts["2_val"], parts["1_idx"], parts["1_ptr"])
    return scipy.sparse.csr_array(arrays, shape=tensor.shape)
