"""NumPy's files: an array in ``.npy``; an array, coordinates or a SciPy sparse matrix in ``.npz``.

Nothing is unpickled, and no more memory is allocated than the length of the file warrants.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from finch_core.errors import FormatError, quote
from finch_core.io.file_contents import (
    Array,
    Content,
    Coordinates,
    array_of,
    content_of,
)
from finch_core.io.numpy_arrays import MAGIC, Members, read_array, translated
from finch_core.runtime.validation import are_within


def read_npy(path: Path) -> Array:
    """The array in a ``.npy`` file. Raises ``FormatError`` for a malformed file."""
    with path.open("rb") as file:
        return read_array(path.name, file, path.stat().st_size)


def read_npz(path: Path) -> Content:
    """The content of a ``.npz`` file: a single array, an array by SciPy's ``save_npz``, or
    coordinates by ``write`` or by ``save_npz`` of pydata/sparse. Raises ``FormatError`` for
    anything else."""
    name = path.name
    with path.open("rb") as file:
        if file.read(len(MAGIC)) == MAGIC:
            file.seek(0)
            return read_array(name, file, path.stat().st_size)
        with translated(name), zipfile.ZipFile(file) as archive:
            members = Members(name, archive, path.stat().st_size)
            by_scipy = "format" in members.infos and "fill_value" not in members.infos
            if "coords" in members.infos and not by_scipy:
                return _stored_coordinates(members)
            if "format" in members.infos:
                return _sparse_matrix(members)
            if len(members.infos) != 1:
                found = quote(sorted(members.infos))
                raise FormatError(f"{name} holds {len(members.infos)} arrays: {found}")
            (only,) = members.infos
            return members.array(only)


# -- coordinates ----------------------------------------------------------------------------


def _stored_coordinates(members: Members) -> Coordinates:
    coords, values, shape = members.integers("coords", 2), members.array("data"), members.shape()
    if values.ndim != 1 or coords.shape != (len(shape), len(values)):
        raise members.error(
            f"coordinates of shape {coords.shape} for {len(shape)} dimensions "
            f"and values of shape {values.shape}"
        )
    fill = np.zeros((), values.dtype)[()]
    if "fill_value" in members.infos:
        fill = _fill_value(members, values.dtype)
    return _checked(members, Coordinates(shape, tuple(coords), values, fill))


def _fill_value(members: Members, dtype: np.dtype[Any]) -> Any:
    fill = members.array("fill_value", ndim=0)
    if fill.dtype == dtype:
        return fill[()]
    value = fill.item()
    numbers = all(found.kind in "biufc" for found in (fill.dtype, dtype))
    if numbers and _holds(dtype, value):
        return dtype.type(value if dtype.kind == "c" else value.real)
    raise members.error(f"the fill value {value} is no value of dtype {dtype}")


def _holds(dtype: np.dtype[Any], value: Any) -> bool:
    """Whether a number, rounded if necessary, is a value of a dtype."""
    if dtype.kind == "c":
        part = np.dtype(dtype.type().real.dtype)
        return _holds(part, value.real) and _holds(part, value.imag)
    if value.imag != 0:
        return False
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return not math.isfinite(value.real) or bool(np.isfinite(dtype.type(value.real)))
    if not math.isfinite(value.real) or value.real != int(value.real):
        return False
    least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return bool(least <= value.real <= most)


def _checked(members: Members, content: Coordinates) -> Coordinates:
    for k, (index, n) in enumerate(zip(content.coords, content.shape, strict=True)):
        if not are_within(index, n):
            at = int(np.flatnonzero((index < 0) | (index >= n))[0])
            raise members.error(f"index {index[at]} of dimension {k} is not within {n}")
    if not content.shape and len(content.values) > 1:
        raise members.error(f"{len(content.values)} values for a tensor without dimensions")
    return content


# -- SciPy's ``save_npz`` -------------------------------------------------------------------


def _sparse_matrix(members: Members) -> Coordinates:
    text: Any = members.array("format", "SU", 0).item()
    format = text.decode("latin-1") if isinstance(text, bytes) else text
    reader = _SPARSE.get(format)
    if reader is None:
        raise members.error(f"SciPy's format {format[:20]!r} is not known")
    shape = members.shape()
    coords, values = reader(members, shape)
    if len(coords) != len(shape):
        raise members.error(f"a shape of {len(shape)} dimensions for the format {format}")
    zero = np.zeros((), values.dtype)[()]
    return _checked(members, Coordinates(shape, tuple(coords), values, zero))


Found = tuple[list[Array], Array]
"""An array of indices for each dimension, and the values."""


def _of_rows(members: Members, shape: tuple[int, ...]) -> Found:
    values, indices = members.array("data", "biufc", 1), members.integers("indices")
    rows, stored = _rows(members, len(indices), shape[0] if len(shape) > 1 else 1)
    if len(values) < stored:
        raise members.error(f"{len(values)} values for {stored} indices")
    coords = [rows, indices[:stored]] if len(shape) > 1 else [indices[:stored]]
    return coords, values[:stored]


def _of_columns(members: Members, shape: tuple[int, ...]) -> Found:
    coords, values = _of_rows(members, shape[::-1])
    return coords[::-1], values


def _of_blocks(members: Members, shape: tuple[int, ...]) -> Found:
    blocks, indices = members.array("data", "biufc", 3), members.integers("indices")
    height, width = blocks.shape[1:]
    if len(shape) != 2 or not height or not width or shape[0] % height or shape[1] % width:
        raise members.error(f"blocks of shape {(height, width)} for a shape {shape}")
    rows, stored = _rows(members, len(indices), shape[0] // height)
    indices = indices[:stored]
    if len(blocks) < stored:
        raise members.error(f"{len(blocks)} blocks for {stored} indices")
    if not are_within(indices, shape[1] // width):
        raise members.error("the index of a block is out of range")
    row = (rows * height)[:, None, None] + np.arange(height)[:, None]
    column = (indices * width)[:, None, None] + np.arange(width)
    full = (stored, height, width)
    coords = [np.broadcast_to(index, full).ravel() for index in (row, column)]
    return coords, blocks[:stored].ravel()


def _rows(members: Members, most: int, count: int) -> tuple[Array, int]:
    """The row of each stored entry, and the number of entries."""
    pointers = members.integers("indptr")
    if len(pointers) != count + 1:
        raise members.error(f"indptr has {len(pointers)} elements, and needs {count + 1}")
    if pointers[0] != 0 or (pointers[1:] < pointers[:-1]).any() or pointers[-1] > most:
        raise members.error(f"indptr does not go up from 0 to at most {most}")
    return np.repeat(np.arange(count, dtype=np.intp), np.diff(pointers)), int(pointers[-1])


def _of_diagonals(members: Members, shape: tuple[int, ...]) -> Found:
    """The entries of stored diagonals that differ from 0."""
    values, offsets = members.array("data", "biufc", 2), members.integers("offsets")
    if len(shape) != 2 or len(values) != len(offsets):
        raise members.error(f"{len(values)} diagonals, {len(offsets)} offsets, shape {shape}")
    parts = []
    for offset, diagonal in zip(offsets.tolist(), values, strict=True):
        start = max(0, offset)
        stop = max(start, min(len(diagonal), shape[1], shape[0] + offset))
        columns = start + np.flatnonzero(diagonal[start:stop])
        parts.append((columns - offset if len(columns) else columns, columns, diagonal[columns]))
    if not parts:
        nothing = np.zeros(0, np.intp)
        return [nothing, nothing], values[:, :0].ravel()
    rows, columns, stored = (np.concatenate(part) for part in zip(*parts, strict=True))
    return [rows, columns], stored


def _of_coordinates(members: Members, shape: tuple[int, ...]) -> Found:
    values = members.array("data", "biufc", 1)
    if "coords" in members.infos:
        coords = list(members.integers("coords", 2))
    else:
        coords = [members.integers("row"), members.integers("col")]
    if any(len(index) != len(values) for index in coords):
        raise members.error(f"{[len(c) for c in coords]} indices for {len(values)} values")
    return coords, values


_SPARSE: Mapping[str, Callable[[Members, tuple[int, ...]], Found]] = MappingProxyType(
    {
        "csr": _of_rows,
        "csc": _of_columns,
        "bsr": _of_blocks,
        "dia": _of_diagonals,
        "coo": _of_coordinates,
    }
)
"""Readers of SciPy's formats."""


# -- writing --------------------------------------------------------------------------------


def write_npy(tensor: Any, path: Path) -> None:
    """Write all elements as an array. Raises ``FormatError`` for a dtype that NumPy has not."""
    array = array_of(content_of(tensor))
    _check_written(array.dtype)
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def _check_written(dtype: np.dtype[Any]) -> None:
    if np.lib.format.descr_to_dtype(np.lib.format.dtype_to_descr(dtype)) != dtype:
        raise FormatError(
            f"NumPy's files have no dtype {dtype}", hint="cast it, as in A.astype(np.float32)"
        )


def write_npz(tensor: Any, path: Path) -> None:
    """Write the coordinates and the fill value, or the array if all elements are stored. SciPy's
    ``load_npz`` and that of pydata/sparse read coordinates with the fill value 0. Raises
    ``FormatError`` for a dtype that is not NumPy's own."""
    content = content_of(tensor)
    _check_written((content.values if isinstance(content, Coordinates) else content).dtype)
    with path.open("wb") as file:
        if not isinstance(content, Coordinates):
            np.savez_compressed(file, array=content)
            return
        # for SciPy, which knows no fill but 0, and refuses files without a format
        plain = content.values.dtype.kind in "biufc" and content.fill == 0
        told: Any = {"format": np.array("coo"), "_is_array": np.array(True)} if plain else {}
        np.savez_compressed(
            file,
            **told,
            coords=np.stack(content.coords),
            data=content.values,
            shape=np.array(content.shape, np.intp),
            fill_value=np.array(content.fill, content.values.dtype),
        )
