"""NumPy's files: an array in ``.npy``; an array, coordinates or a SciPy sparse matrix in ``.npz``.

Nothing is unpickled, and no more memory is allocated than the length of the file warrants.
"""

from __future__ import annotations

import ast
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import numpy as np

from finch_core.errors import FormatError, quote
from finch_core.io.file_contents import (
    Array,
    Content,
    Coordinates,
    array_of,
    check_dimensions,
    content_of,
)
from finch_core.ir.dtypes import SUPPORTED, is_storable, is_tuple, tuple_dtype, tuple_fields

MAGIC = b"\x93NUMPY"
LENGTHS = MappingProxyType({1: "<H", 2: "<I", 3: "<I"})
"""The ``struct`` code of the header's length, by version of the format."""

LONGEST_HEADER = 10_000
DEFLATION = 1100
"""An upper bound on the bytes that one deflated byte expands to (1032)."""


def read_npy(path: Path) -> Array:
    """The array in a ``.npy`` file. Raises ``FormatError`` for a malformed file."""
    with path.open("rb") as file:
        return _read_array(path.name, file, path.stat().st_size)


def read_npz(path: Path) -> Content:
    """The content of a ``.npz`` file: a single array, a matrix by SciPy's ``save_npz``, or
    coordinates by ``write``. Raises ``FormatError`` for anything else."""
    name = path.name
    with path.open("rb") as file:
        if file.read(len(MAGIC)) == MAGIC:
            file.seek(0)
            return _read_array(name, file, path.stat().st_size)
        with _translated(name), zipfile.ZipFile(file) as archive:
            members = Members(name, archive, path.stat().st_size)
            if "coords" in members.infos and "format" not in members.infos:
                return _stored_coordinates(members)
            if "format" in members.infos:
                return _sparse_matrix(members)
            if len(members.infos) != 1:
                found = quote(sorted(members.infos))
                raise FormatError(f"{name} holds {len(members.infos)} arrays: {found}")
            (only,) = members.infos
            return members.array(only)


@contextmanager
def _translated(name: str) -> Iterator[None]:
    """Raise errors of ``zipfile`` and ``zlib`` about malformed archives as ``FormatError``."""
    try:
        yield
    except FormatError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        IndexError,
        NotImplementedError,
        OSError,
        OverflowError,
        RuntimeError,
        ValueError,
    ) as error:
        raise FormatError(f"{name} is not a whole NumPy file: {error}") from error


class Members:
    """The arrays in an archive by name, read lazily."""

    def __init__(self, name: str, archive: zipfile.ZipFile, size: int) -> None:
        self.name = name
        self.infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        self._archive = archive
        self._size = size

    def array(self, member: str, kinds: str = "", ndim: int | None = None) -> Array:
        """The array called ``member``. If given, ``kinds`` are NumPy's letters of the dtype kinds
        allowed, and ``ndim`` is the number of dimensions. Raises ``FormatError``."""
        info = self.infos.get(member)
        name = f"{self.name}, array {member!r}"
        if info is None:
            raise FormatError(f"{self.name} has no array {member!r}")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FormatError(f"{name}: the compression {info.compress_type} is not known")
        if info.file_size > DEFLATION * min(info.compress_size + 1, self._size):
            raise FormatError(f"{name}: the file is too short for it")
        with self._archive.open(info) as file:
            array = _read_array(name, file, info.file_size, kinds)
        if ndim is not None and array.ndim != ndim:
            raise FormatError(f"{name} has {array.ndim} dimensions, not {ndim}")
        return array

    def integers(self, member: str, ndim: int = 1) -> Array:
        """An array of integers that fit in ``intp``. Raises ``FormatError``."""
        array = self.array(member, "iu", ndim)
        if array.dtype == np.uint64 and array.size and int(array.max()) > np.iinfo(np.intp).max:
            raise FormatError(f"{self.name}, array {member!r}: {array.max()} is out of range")
        return array.astype(np.intp, copy=False)

    def shape(self) -> tuple[int, ...]:
        """The array ``shape`` as a tuple of dimensions. Raises ``FormatError``."""
        shape = tuple(self.integers("shape").tolist())
        _check_shape(self.name, shape)
        return shape

    def error(self, message: str) -> FormatError:
        return FormatError(f"{self.name}: {message}")


# -- arrays ---------------------------------------------------------------------------------


def _read_array(name: str, file: IO[bytes], size: int, kinds: str = "") -> Array:
    """The array at the start of a file of ``size`` bytes. ``kinds``, if given, are the letters of
    the dtype kinds allowed; strings need it."""
    dtype, shape, fortran = _header(name, file)
    _check_dtype(name, dtype, kinds)
    _check_shape(name, shape)
    count = math.prod(shape)
    if count * dtype.itemsize > size:
        raise FormatError(f"{name}: the header promises {count} values, and the file is too short")
    array = np.empty(count, dtype)
    _fill(name, file, array)
    if not dtype.isnative:
        array = array.astype(dtype.newbyteorder("="))
    try:
        array = array.reshape(shape[::-1]).T if fortran else array.reshape(shape)
    except ValueError as error:
        raise FormatError(f"{name}: an array of shape {shape}: {error}") from error
    return np.ascontiguousarray(array).reshape(shape)


def _header(name: str, file: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    """The dtype and shape of an array, and whether it is in Fortran order."""
    start = file.read(len(MAGIC) + 2)
    if len(start) < len(MAGIC) + 2 or not start.startswith(MAGIC) or start[-2] not in LENGTHS:
        raise FormatError(f"{name} is not a NumPy file: it does not begin as one")
    form = LENGTHS[start[-2]]
    length = file.read(struct.calcsize(form)).ljust(4, b"\0")
    (size,) = struct.unpack_from(form, length)
    if size > LONGEST_HEADER:
        raise FormatError(f"{name} is not a NumPy file: its header is {size} bytes long")
    text = file.read(size)
    try:
        found = ast.literal_eval(text.decode("utf-8" if start[-2] == 3 else "latin-1"))
        descr, shape, fortran = (found[key] for key in ("descr", "shape", "fortran_order"))
        dtype = np.lib.format.descr_to_dtype(descr)
        if type(shape) is tuple and all(type(n) is int for n in shape) and type(fortran) is bool:
            return dtype, shape, fortran
    # the parser raises MemoryError for deep literals, NumPy various errors for invalid dtypes
    except Exception as error:
        raise FormatError(f"{name} is not a NumPy file: its header is malformed") from error
    raise FormatError(f"{name} is not a NumPy file: the shape {str(shape)[:60]} is malformed")


def _check_dtype(name: str, dtype: np.dtype[Any], kinds: str) -> None:
    native = dtype.newbyteorder("=")
    if kinds and dtype.kind in kinds and dtype.kind in "SU":
        return
    known = (not is_tuple(dtype) and is_storable(native)) or (
        is_tuple(dtype)
        and all(field in SUPPORTED for field in tuple_fields(dtype))
        and dtype == tuple_dtype(tuple_fields(dtype))
    )
    if not known or (kinds and dtype.kind not in kinds):
        raise FormatError(f"{name}: values of dtype {dtype} are not expected there")


def _check_shape(name: str, shape: tuple[int, ...]) -> None:
    try:
        check_dimensions(shape)
    except FormatError as error:
        raise FormatError(f"{name}: {error.message}") from None


def _fill(name: str, file: IO[bytes], array: Array) -> None:
    """Fill ``array`` with bytes of a file."""
    if not array.nbytes:
        return
    view, done = array.view(np.uint8).data, 0
    while done < len(view):
        read: int = file.readinto(view[done : done + (1 << 24)])  # type: ignore[attr-defined]
        if not read:
            raise FormatError(f"{name}: the file is too short")
        done += read
    fields = [array] if array.dtype.names is None else [array[f] for f in array.dtype.names]
    for field in fields:
        if field.dtype == bool:  # any byte but 0 is true; compiled code knows 1 alone
            field[...] = field.view(np.uint8) != 0


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
        if index.size and not (index.min() >= 0 and index.max() < n):
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
    if stored and not (indices.min() >= 0 and indices.max() < shape[1] // width):
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
    """Write the coordinates and the fill value, or the array if all elements are stored. Raises
    ``FormatError`` for a dtype that is not NumPy's own."""
    content = content_of(tensor)
    _check_written((content.values if isinstance(content, Coordinates) else content).dtype)
    with path.open("wb") as file:
        if not isinstance(content, Coordinates):
            np.savez_compressed(file, array=content)
            return
        np.savez_compressed(
            file,
            coords=np.stack(content.coords),
            data=content.values,
            shape=np.array(content.shape, np.intp),
            fill_value=np.array(content.fill, content.values.dtype),
        )
