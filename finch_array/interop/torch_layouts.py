"""Tensors of torch on the processor: strided, and its sparse layouts COO, CSR, CSC, BSR and BSC."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_array.interop.libraries import library
from finch_array.operands import array_of, is_dense, stored
from finch_array.run import coordinates, sorted_tensor
from finch_core.errors import FormatError
from finch_core.interface.level import Format
from finch_core.interface.storage import holding
from finch_core.runtime import devices
from finch_core.runtime.convert import asarray
from finch_core.runtime.tensor import Tensor
from finch_levels import Dense, Element, SparseCOO, SparseList
from finch_wrappers import swizzle

EXTRA = "torch"


def _numpy(part: Any) -> Any:
    """The array over a part's memory. NumPy knows bfloat16 by ``ml_dtypes`` alone."""
    if str(part.dtype) == "torch.bfloat16":
        import torch

        return part.view(torch.int16).numpy().view(library("ml_dtypes", EXTRA).bfloat16)
    return part.numpy()


def memory(tensor: Any) -> Any:
    """The array over the memory of a strided tensor, for kernels that write it in place; None for
    other layouts, and for tensors whose gradient torch follows. Raises ``FormatError`` for one on
    another device."""
    torch = library("torch", EXTRA)
    _check_device(tensor)
    if (
        tensor.layout != torch.strided
        or tensor.requires_grad
        or tensor.is_conj()
        or tensor.is_neg()
    ):
        return None
    return _numpy(tensor)


def _check_device(tensor: Any) -> None:
    if tensor.device.type != "cpu":
        raise devices.refused(tensor, str(tensor.device))


def from_torch(tensor: Any) -> Any:
    """An array over the memory of a tensor. Raises ``FormatError`` for one on another device, for
    one whose gradient torch follows, and for batches of sparse matrices."""
    torch = library("torch", EXTRA)
    if tensor.requires_grad:
        raise FormatError(
            "torch follows the gradient of this tensor, which kernels do not",
            hint="tensor.detach()",
        )
    _check_device(tensor)
    if tensor.layout == torch.strided:
        return asarray(_numpy(tensor.resolve_conj().resolve_neg()))
    if tensor.layout == torch.sparse_coo:
        return _from_coo(tensor.coalesce())
    if tensor.ndim != 2:
        raise FormatError(f"a {tensor.layout} tensor of {tensor.ndim} dimensions is a batch")
    by_rows = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    if by_rows:
        starts, places = tensor.crow_indices(), tensor.col_indices()
    else:
        starts, places = tensor.ccol_indices(), tensor.row_indices()
    ptr, idx, values = _numpy(starts), _numpy(places), _numpy(tensor.values())
    if tensor.layout in (torch.sparse_bsr, torch.sparse_bsc):
        return _from_blocks(ptr, idx, values, tuple(tensor.shape), by_rows)
    shape = tuple(tensor.shape) if by_rows else tuple(reversed(tensor.shape))
    idx = holding(idx, shape[1])
    format = Dense(SparseList(_leaf(values), index=idx.dtype, pointer=ptr.dtype))
    found = Tensor.from_buffers(format, shape, {"1_ptr": ptr, "1_idx": idx, "2_val": values})
    if by_rows:
        return found
    return swizzle(found, (1, 0))


def _leaf(values: Any) -> Format:
    return Element(values.dtype.type(0))


def _from_coo(tensor: Any) -> Any:
    """Levels of coordinates over the rows of the indices; dense dimensions below them."""
    indices, values = _numpy(tensor.indices()), _numpy(tensor.values())
    format: Format = _leaf(values)
    for _ in range(tensor.dense_dim()):
        format = Dense(format)
    for _ in range(tensor.sparse_dim()):
        format = SparseCOO(format, index=indices.dtype, pointer=indices.dtype)
    buffers = {f"{k}_idx": row for k, row in enumerate(indices)}
    buffers["0_ptr"] = np.asarray([0, values.shape[0]], indices.dtype)
    buffers[f"{tensor.ndim}_val"] = np.ascontiguousarray(values).reshape(-1)
    return Tensor.from_buffers(format, tuple(tensor.shape), buffers)


def _from_blocks(ptr: Any, idx: Any, values: Any, shape: tuple[int, ...], by_rows: bool) -> Any:
    high, wide = values.shape[1:]
    outer = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    row, column = (outer, idx) if by_rows else (idx, outer)
    i = row[:, None, None] * high + np.arange(high)[:, None]
    j = column[:, None, None] * wide + np.arange(wide)
    grid = [np.broadcast_to(c, values.shape).reshape(-1) for c in (i, j)]
    return sorted_tensor(shape, grid, values.reshape(-1), values.dtype.type(0))


def to_torch(array: Any) -> Any:
    """A torch tensor over the memory of a dense array of values (a copy, if its leaf has another
    form), or of rows or columns of lists with equal dtypes of indices and pointers; otherwise of
    coordinates, copied. Raises ``FormatError`` for a
    fill value other than 0."""
    torch = library("torch", EXTRA)
    found = array_of(array)
    if is_dense(found):
        return _given(torch, found.to_numpy())
    if found.fill_value != 0:
        raise FormatError(
            f"sparse tensors of torch have fill value 0, this one {found.fill_value!r}",
            hint="torch.from_numpy(A.to_numpy())",
        )
    inner = stored(found)
    if isinstance(inner.source, Tensor) and found.ndim == 2:
        levels = [level.layout for level in inner.source.format.levels()]
        buffers = inner.source.buffers
        if levels == ["dense", "compressed", "values"]:
            made = torch.sparse_csr_tensor if inner.axes == (0, 1) else torch.sparse_csc_tensor
            ptr, idx, values = (buffers[name] for name in ("1_ptr", "1_idx", "2_val"))
            if ptr.dtype == idx.dtype and ptr.dtype in (np.int32, np.int64):
                parts = (_given(torch, part) for part in (ptr, idx, values))
                return made(*parts, size=found.shape, check_invariants=False)
    shape, coords, values = coordinates(found)
    places = np.stack([np.asarray(c, np.int64) for c in coords])
    given = torch.from_numpy(places), _given(torch, np.array(values))
    # the invariants are those of our levels; without a word on them torch warns
    return torch.sparse_coo_tensor(*given, size=shape, check_invariants=False).coalesce()


def _given(torch: Any, array: Any) -> Any:
    """A tensor over the memory of an array; a copy of one that is read-only."""
    array = array if array.flags.writeable else array.copy()
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
