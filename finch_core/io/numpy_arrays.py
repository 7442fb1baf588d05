"""Arrays in NumPy's files: in ``.npy``, and as the members of an archive, ``.npz``."""

from __future__ import annotations

import ast
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import IO, Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.io.file_contents import (
    Array,
    check_dimensions,
)
from finch_core.ir.dtypes import SUPPORTED, is_storable, is_tuple, tuple_dtype, tuple_fields

MAGIC = b"\x93NUMPY"
LENGTHS = MappingProxyType({1: "<H", 2: "<I", 3: "<I"})
"""The ``struct`` code of the header's length, by version of the format."""

LONGEST_HEADER = 10_000
DEFLATION = 1100
"""An upper bound on the bytes that one deflated byte expands to (1032)."""


@contextmanager
def translated(name: str) -> Iterator[None]:
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
            array = read_array(name, file, info.file_size, kinds)
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


def read_array(name: str, file: IO[bytes], size: int, kinds: str = "") -> Array:
    """The array at the start of a file of ``size`` bytes. ``kinds``, if given, are the letters of
    the dtype kinds allowed; strings need it. Raises ``FormatError`` for what is no whole array."""
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
