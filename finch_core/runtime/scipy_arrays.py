"""Conversions to and from SciPy's sparse arrays, sharing memory where the layout allows."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.runtime.convert import coordinate_format, from_coordinates, stored_coordinates
from finch_core.runtime.tensor import Tensor

_seen: dict[int, tuple[Any, tuple[Any, ...], Any]] = {}
"""SciPy arrays that are read in place, by id: a weak reference, the shape and the ids of the parts
when they were checked, and the tensor over these."""


def from_scipy(array: Any) -> Any:
    """A tensor of a SciPy sparse array: over its memory for CSR, and for CSC seen transposed.

    Changes of its values are visible in the tensor. The structure (``indices``, ``indptr``) is
    checked at the first use, and again if the shape changed or one of the arrays was replaced, as
    SciPy's methods do. Changing elements of these arrays in place is not noticed: copy the array
    first. Arrays that are unsorted, have duplicates or another format are converted at each use.

    Raises ``FormatError`` for a malformed structure, an unknown format or an unsupported dtype.
    """
    if array.format not in ("csr", "csc") or array.ndim != 2:
        return _converted(array)
    parts = (array.shape, *(id(part) for part in (array.data, array.indices, array.indptr)))
    known = _seen.get(id(array))
    if known is not None and known[0]() is array and known[1] == parts:
        return known[2]
    try:
        tensor = _over(array)
    except FormatError as error:
        return _over(_sorted(array, error))
    key = id(array)
    _seen[key] = (weakref.ref(array, lambda _: _seen.pop(key, None)), parts, tensor)
    return tensor


def unchanged(array: Any) -> Callable[[], bool] | None:
    """A function that says whether an array that is read in place still has its shape and its
    parts; None for one that is converted at each use."""
    from_scipy(array)
    if id(array) not in _seen:
        return None
    data, indices, indptr, shape = array.data, array.indices, array.indptr, array.shape
    parts = vars(array)  # SciPy's properties cost as much as a small kernel
    if parts.get("_shape") != shape:
        return None

    def holds() -> bool:
        return (
            parts["data"] is data
            and parts["indices"] is indices
            and parts["indptr"] is indptr
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
    """A tensor with a copy of an array of another format than CSR and CSC."""
    if array.format not in ("coo", "dok", "lil", "dia", "bsr"):
        raise FormatError(f"SciPy arrays of format {array.format!r} are not supported")
    coo = array.tocoo()
    coords = coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)
    format = csr_format(coo.ndim, coo.dtype)
    if is_hypersparse(coo.shape, len(coo.data)):
        format = coordinate_format(coo.ndim, format.fill_value)
    return from_coordinates(format, coo.shape, list(coords), coo.data)


FEW_ROWS = 1 << 20
"""Number of rows up to which a matrix has a pointer for each row, however few are non-empty."""


def is_hypersparse(shape: tuple[int, ...], stored: int) -> bool:
    """Whether a tensor has so many more rows than stored values that rows should be compressed,
    too."""
    return len(shape) > 1 and shape[0] > max(FEW_ROWS, 8 * stored)


def _over(array: Any) -> Any:
    """A tensor over the three arrays of a CSR or CSC array."""
    shape = array.shape if array.format == "csr" else array.shape[::-1]
    format = csr_format(2, array.dtype, array.indices.dtype, array.indptr.dtype)
    buffers = {"1_ptr": array.indptr, "1_idx": array.indices, "2_val": array.data}
    tensor = Tensor.from_buffers(format, shape, buffers)
    return tensor if array.format == "csr" else transpose(tensor)


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
    memory if it is stored as CSR, else a copy; a ``coo_array`` for other tensors and hypersparse
    matrices. Raises ``FormatError`` if the fill value is not 0."""
    import scipy.sparse

    if tensor.fill_value != 0:
        raise FormatError(
            f"SciPy's sparse arrays leave out zeros, and the fill value is {tensor.fill_value}",
            hint="to_numpy() gives a dense array",
        )
    layouts = [getattr(level, "layout", "") for level in tensor.format.levels()]
    in_rows = layouts == ["dense", "compressed", "values"]
    if tensor.ndim != 2 or (not in_rows and is_hypersparse(tensor.shape, tensor.nstored)):
        shape, coords, values = stored_coordinates(tensor)
        return scipy.sparse.coo_array((values, tuple(coords)), shape=shape)
    if not in_rows:
        tensor = Tensor(csr_format(2, tensor.dtype), tensor)
    parts = tensor.buffers
    arrays = (parts["2_val"], parts["1_idx"], parts["1_ptr"])
    return scipy.sparse.csr_array(arrays, shape=tensor.shape)
