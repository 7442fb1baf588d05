"""To and from SciPy's sparse arrays, sharing memory where the layout allows."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from finch_core.convert import from_coordinates, stored_coordinates
from finch_core.errors import FormatError
from finch_core.level import Format
from finch_core.plugins import hub
from finch_core.tensor import Tensor

_seen: dict[int, tuple[Any, tuple[Any, ...], Any]] = {}
"""SciPy arrays that were taken before, by id: a weak reference, their arrays, and the tensor."""


def from_scipy(array: Any) -> Any:
    """A tensor over a SciPy sparse array: CSR as it is, CSC transposed; others are converted.

    The same array gives the same tensor while its parts are the same.
    """
    parts = tuple(id(getattr(array, name, None)) for name in ("data", "indices", "indptr"))
    known = _seen.get(id(array))
    if known is not None and known[0]() is array and known[1] == parts:
        return known[2]
    tensor = _convert(array)
    key = id(array)
    _seen[key] = (weakref.ref(array, lambda _: _seen.pop(key, None)), parts, tensor)
    return tensor


def _convert(array: Any) -> Any:
    if array.format == "csr" and array.ndim == 2:
        return _compressed(array, array.shape)
    if array.format == "csc":
        return transpose(_compressed(array, array.shape[::-1]))
    if array.format in ("coo", "dok", "lil", "dia", "bsr"):
        coo = array.tocoo()
        coords = coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)
        format = csr_format(coo.ndim, coo.dtype)
        return from_coordinates(format, coo.shape, list(coords), coo.data)
    raise FormatError(f"SciPy arrays of format {array.format!r} are not known")


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


def _compressed(array: Any, shape: tuple[int, ...]) -> Tensor:
    """A tensor over the three arrays of CSR or CSC."""
    if not array.has_canonical_format:
        array = array.copy()
        array.sum_duplicates()
    format = csr_format(2, array.dtype, array.indices.dtype, array.indptr.dtype)
    buffers = {"1_ptr": array.indptr, "1_idx": array.indices, "2_val": array.data}
    return Tensor.from_buffers(format, shape, buffers)


def to_scipy(tensor: Tensor) -> Any:
    """A ``csr_array`` over the tensor's memory where it is stored so; else a copy, as CSR for
    matrices and COO otherwise. Raises ``FormatError`` where the fill value is not 0."""
    import scipy.sparse

    if tensor.fill_value != 0:
        raise FormatError(
            f"SciPy's sparse arrays leave out zeros, and the fill value is {tensor.fill_value}",
            hint="to_numpy() gives a dense array",
        )
    if tensor.ndim != 2:
        shape, coords, values = stored_coordinates(tensor)
        return scipy.sparse.coo_array((values, tuple(coords)), shape=shape)
    layouts = [getattr(level, "layout", "") for level in tensor.format.levels()]
    if layouts != ["dense", "compressed", "values"]:
        tensor = Tensor(csr_format(2, tensor.dtype), tensor)
    parts = tensor.buffers
    arrays = (parts["2_val"], parts["1_idx"], parts["1_ptr"])
    return scipy.sparse.csr_array(arrays, shape=tensor.shape)
