"""To and from SciPy's sparse arrays, sharing memory where the layout allows."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.runtime.convert import coordinate_format, from_coordinates, stored_coordinates
from finch_core.runtime.tensor import Tensor

_seen: dict[int, tuple[Any, tuple[Any, ...], Any]] = {}
"""SciPy arrays that were taken in place, by id: a weak reference, what they consisted of, and the
tensor over it."""


def from_scipy(array: Any) -> Any:
    """A tensor over a SciPy sparse array: CSR as it is, CSC transposed, sharing memory.

    Values that are changed in place show. The structure is checked when the array is first seen,
    and when its shape is another or one of its parts was replaced, as SciPy's own methods do; it
    must not be changed in place, element by element, without taking a copy: it is not checked
    again. What is not sorted, has duplicates or is of another format is converted each time.
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


def _sorted(array: Any, error: FormatError) -> Any:
    """A copy with indices in order and duplicates added up, if no more than that is amiss; else
    raises ``error``."""
    try:
        array.check_format(full_check=True)
    except ValueError:
        raise error from None
    array = array.copy()
    array.has_canonical_format = False
    array.sum_duplicates()
    return array


def _converted(array: Any) -> Any:
    """A tensor of an array whose storage is another."""
    if array.format not in ("coo", "dok", "lil", "dia", "bsr"):
        raise FormatError(f"SciPy arrays of format {array.format!r} are not known")
    coo = array.tocoo()
    coords = coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)
    format = csr_format(coo.ndim, coo.dtype)
    if is_hypersparse(coo.shape, len(coo.data)):
        format = coordinate_format(coo.ndim, format.fill_value)
    return from_coordinates(format, coo.shape, list(coords), coo.data)


FEW_ROWS = 1 << 20
"""Rows up to which there is a pointer for each, however few store anything."""


def is_hypersparse(shape: tuple[int, ...], stored: int) -> bool:
    """Whether a tensor of some dimensions has so many more rows than values that it costs what is
    stored only where rows are compressed, too."""
    return len(shape) > 1 and shape[0] > max(FEW_ROWS, 8 * stored)


def _over(array: Any) -> Any:
    """A tensor over the three arrays of CSR or CSC."""
    shape = array.shape if array.format == "csr" else array.shape[::-1]
    format = csr_format(2, array.dtype, array.indices.dtype, array.indptr.dtype)
    buffers = {"1_ptr": array.indptr, "1_idx": array.indices, "2_val": array.data}
    tensor = Tensor.from_buffers(format, shape, buffers)
    return tensor if array.format == "csr" else transpose(tensor)


def transpose(tensor: Tensor) -> Any:
    """A matrix seen with its two dimensions exchanged."""
    for wrapper in hub().wrappers.values():
        if getattr(wrapper, "permutes", False):
            return wrapper.wrap(tensor, (1, 0))
    raise FormatError(
        "no wrapper that permutes dimensions is installed", hint="convert to CSR first, A.tocsr()"
    )


def csr_format(ndim: int, dtype: Any, index: Any = np.intp, pointer: Any = np.intp) -> Format:
    """Dense outermost, compressed below: CSR for matrices."""
    compressed = hub().layout("compressed")
    format: Format = hub().layout("values")(np.zeros((), dtype)[()])
    for k in reversed(range(ndim)):
        if k == 0 and ndim > 1:
            format = hub().layout("dense")(format)
        else:
            format = compressed(format, index=index, pointer=pointer)
    return format


def to_scipy(tensor: Tensor) -> Any:
    """A ``csr_array`` over the tensor's memory where it is stored so; else a copy, as CSR for
    matrices, and COO otherwise and for those that are hypersparse. Raises ``FormatError`` where the
    fill value is not 0."""
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
