"""Files of the binsparse standard, by its package: HDF5, NumPy archives and Zarr.

A tree of the standard's levels is one of ours: ``dense`` is ``Dense``, ``sparse`` of one dimension
``SparseList``, ``sparse`` of several ``SparseCOO``. What is transposed is a ``swizzle``. The
standard has no other levels, so tensors in others are refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from finch_array.interop.libraries import library, malformed
from finch_core.errors import FormatError
from finch_core.interface.level import Format
from finch_core.interface.storage import holding
from finch_core.io import Coordinates
from finch_core.runtime.tensor import Tensor
from finch_levels import Dense, Element, SparseCOO, SparseList
from finch_wrappers import swizzle

EXTRA = "binsparse"
KIND = "a binsparse file"

# -- reading ----------------------------------------------------------------------------------


def load_h5(path: Path) -> Any:
    """A tensor from an HDF5 file."""
    h5py = library("h5py", EXTRA)
    with malformed(path, KIND), h5py.File(path, "r") as file:
        return _read(library("binsparse", EXTRA).HDF5BinsparseContainer(file))


def load_npz(path: Path) -> Any:
    """A tensor from an archive of NumPy arrays."""
    kind = library("binsparse", EXTRA).NPZBinsparseContainer
    with malformed(path, KIND), path.open("rb") as file, np.load(file) as archive:  # no pickles
        return _read(kind(archive))


def load_zarr(path: Path) -> Any:
    """A tensor from the folder of a Zarr group."""
    kind = library("binsparse", EXTRA).ZarrBinsparseContainer
    zarr = library("zarr", EXTRA)
    with malformed(path, KIND):
        return _read(kind(zarr.open_group(path, mode="r")))


def _read(container: Any) -> Any:
    found = library("binsparse", EXTRA).BinsparseTensor.parse(container)
    name = type(found).format
    levels, order = _custom(found) if name == "custom" else _named(found, *_NAMED[name])
    return _tensor(found, levels, order)


_NAMED: dict[str, tuple[str, bool]] = {
    "DVEC": ("d", False), "DMATR": ("dd", False), "DMATC": ("dd", True), "CVEC": ("s", False),
    "CSR": ("ds", False), "CSC": ("ds", True), "DCSR": ("ss", False), "DCSC": ("ss", True),
    "COOR": ("c", False), "COOC": ("c", True),
}  # fmt: skip
"""The levels of the standard's layouts, and whether they store a matrix by columns."""


def _named(found: Any, levels: str, by_columns: bool) -> tuple[list[Any], Any]:
    """The levels of one of the standard's layouts (kind, indices, pointers), the values last."""
    told: list[Any] = []
    for depth, kind in enumerate(levels):
        if kind == "d":
            told.append(("dense", (), None))
        elif kind == "s":
            pointers = getattr(found, f"pointers_to_{depth}") if depth else None
            told.append(("sparse", (getattr(found, f"indices_{depth}"),), pointers))
        else:
            told.append(("sparse", (found.indices_0, found.indices_1), None))
    return [*told, found.values], (1, 0) if by_columns else None


def _custom(found: Any) -> tuple[list[Any], Any]:
    """The levels of a tree, the values last."""
    told: list[Any] = []
    level = found.level
    while level.level_desc != "element":
        if level.level_desc == "dense":
            told += [("dense", (), None)] * level.rank
        else:
            told.append(("sparse", level.indices, level.pointers_to_next))
        level = level.level
    return [*told, level.values], found.transpose


def _tensor(found: Any, levels: Sequence[Any], order: Any) -> Any:
    *above, values = levels
    fill = values.dtype.type(0) if found.fill_value is None else found.fill_value
    shape = tuple(int(found.shape[k]) for k in order) if order else found.shape
    constant = len(values) > 1 and values.strides == (0,)
    if constant and not any(kind == "sparse" for kind, _, _ in above):
        # one value for all elements, of which the file has one copy: its fill
        none = tuple(np.zeros(0, np.intp) for _ in shape)
        return Coordinates(found.shape, none, values[:0], values[0])
    format: Format = Element(np.asarray(fill).astype(values.dtype)[()])
    buffers: dict[str, Any] = {}
    depth = len(shape)
    buffers[f"{depth}_val"] = np.ascontiguousarray(values)
    for kind, indices, pointers in reversed(above):
        depth -= max(len(indices), 1)
        if kind == "dense":
            format = Dense(format)
        else:
            sizes = shape[depth : depth + len(indices)]
            arrays = [holding(np.asarray(a), n) for a, n in zip(indices, sizes, strict=True)]
            format = _sparse(format, depth, arrays, pointers, buffers)
    tensor = Tensor.from_buffers(format, shape, buffers)
    if not order:
        return tensor
    return swizzle(tensor, tuple(order))


def _sparse(
    format: Format, depth: int, indices: list[Any], pointers: Any, buffers: dict[str, Any]
) -> Format:
    arrays = [np.ascontiguousarray(part) for part in indices]
    ptr = np.array([0, len(arrays[0])]) if pointers is None else pointers
    buffers[f"{depth}_ptr"] = np.ascontiguousarray(ptr)
    for k, part in enumerate(arrays):
        buffers[f"{depth + k}_idx"] = part
    for part in reversed(arrays):
        kind = SparseList if len(arrays) == 1 else SparseCOO
        format = kind(format, index=part.dtype, pointer=ptr.dtype)
    return format


# -- writing ----------------------------------------------------------------------------------


def save_h5(tensor: Any, path: Path) -> None:
    """Write a tensor to an HDF5 file."""
    h5py = library("h5py", EXTRA)
    made = binsparse_of(tensor)
    with h5py.File(path, "w") as file:
        _serialize(made, library("binsparse", EXTRA).HDF5BinsparseContainer(file))


def save_npz(tensor: Any, path: Path) -> None:
    """Write a tensor to an archive of NumPy arrays."""
    arrays: dict[str, Any] = {}
    made = binsparse_of(tensor)
    _serialize(made, library("binsparse", EXTRA).NPZBinsparseContainer(arrays))
    with path.open("wb") as file:
        np.savez(file, **arrays)


def save_zarr(tensor: Any, path: Path) -> None:
    """Write a tensor to the folder of a Zarr group."""
    zarr = library("zarr", EXTRA)
    made = binsparse_of(tensor)
    group = zarr.open_group(path, mode="w")
    _serialize(made, library("binsparse", EXTRA).ZarrBinsparseContainer(group))


def _serialize(made: Any, container: Any) -> None:
    try:
        made.serialize(container, alias=True)
    except TypeError as error:
        raise FormatError(f"binsparse files cannot hold this tensor: {error}") from error


def binsparse_of(tensor: Any) -> Any:
    """A tensor of the package ``binsparse`` over the buffers of a tensor or swizzled tensor.

    Raises ``FormatError`` for a format with levels that the standard does not have.
    """
    package = library("binsparse", EXTRA)
    order = None
    if getattr(tensor, "permutes", False):
        order, tensor = tuple(tensor.perm), tensor.tensor
    if not isinstance(tensor, Tensor):
        raise FormatError(f"binsparse files cannot hold a {tensor.name}", hint="write its copy")
    count, tree = _tree(package, tensor)
    shape = tensor.shape if order is None else _unpermuted(tensor.shape, order)
    fill = tensor.fill_value
    given = {"fill": True, "fill_value": fill} if fill != 0 else {}
    return package.CustomTensor(shape, count, **given, level=tree, transpose=order)


def _unpermuted(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    found = [0] * len(shape)
    for k, dimension in enumerate(order):
        found[dimension] = shape[k]
    return tuple(found)


def _tree(package: Any, tensor: Tensor) -> tuple[int, Any]:
    """The number of values, and the standard's levels, of which coordinates are one."""
    *levels, leaf = tensor.format.levels()
    buffers = tensor.named_arrays()
    for level in levels:
        if level.layout not in _WRITTEN:
            raise FormatError(
                f"binsparse has no level for {type(level).__name__}",
                hint="write A.to(format), with a format of Dense, SparseList and SparseCOO levels",
            )
    values = _values(tensor, leaf, buffers)
    tree: Any = package.ElementLevel(values)
    k = len(levels)
    while k:
        k -= 1
        layout = levels[k].layout
        if layout == "dense":
            tree = package.DenseLevel(1, tree)
            continue
        last = k
        while layout == "coordinates" and f"{k}_ptr" not in buffers:
            k -= 1
        indices = tuple(buffers[f"{d}_idx"] for d in range(k, last + 1))
        pointers = buffers[f"{k}_ptr"] if k else None
        tree = package.SparseLevel(last - k + 1, tree, indices, pointers)
    return len(values), tree


_WRITTEN = ("dense", "compressed", "coordinates")


def _values(tensor: Tensor, leaf: Any, buffers: dict[str, Any]) -> Any:
    if tensor.layout.values is not None and tensor.dtype.kind in "biufc":
        return buffers[f"{tensor.ndim}_val"]
    if not leaf.fields and tensor.dtype == np.bool_:  # what is stored is True
        return np.broadcast_to(np.True_, (tensor.nstored,))
    raise FormatError(f"binsparse files have no values of {leaf}")


__all__ = ["binsparse_of"]
