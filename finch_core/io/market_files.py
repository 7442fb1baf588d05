"""Matrix Market: matrices, tensors and vectors, as coordinates or as arrays, read and written."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from finch_core.errors import FormatError, count, quote
from finch_core.io.file_contents import (
    Array,
    Content,
    Coordinates,
    check_dimensions,
    check_plain,
    content_of,
    numbers_text,
    put,
)
from finch_core.io.number_text import NotANumber, number
from finch_core.io.text_tables import Column, TextFile, read_table, shown
from finch_core.records import frozen

INDEX = np.dtype(np.int64)
REAL = np.dtype(np.float64)

FIELDS = {
    b"real": REAL,
    b"double": REAL,
    b"integer": np.dtype(np.int64),
    b"unsigned-integer": np.dtype(np.uint64),
    b"complex": np.dtype(np.complex128),
    b"pattern": REAL,
}
"""The dtype of each field; a pattern is read as ones."""

OBJECTS = (b"matrix", b"tensor", b"vector")
LAYOUTS = (b"coordinate", b"array")
SYMMETRIES = (b"general", b"symmetric", b"skew-symmetric", b"hermitian")
BANNERS = (b"%%matrixmarket", b"%matrixmarket")


@frozen
class Header:
    """The first line of the file: object, layout, field and symmetry."""

    kind: bytes
    layout: bytes
    field: bytes
    symmetry: bytes

    @property
    def dtype(self) -> np.dtype[Any]:
        return FIELDS[self.field]

    @property
    def values(self) -> tuple[Column, ...]:
        """The columns of a value: none for a pattern, two for a complex number."""
        if self.field == b"pattern":
            return ()
        if self.field == b"complex":
            return (Column("value", REAL),) * 2
        return (Column("value", self.dtype),)


def read_market(path: Path) -> Content:
    """The content of a Matrix Market file. Raises ``FormatError`` for a malformed file."""
    with TextFile(path, b"%") as file:
        header = _header(file)
        sizes = _sizes(file)
        if header.layout == b"array":
            return _array(file, header, sizes)
        return _coordinates(file, header, sizes)


def _header(file: TextFile) -> Header:
    words = file.next_line().lower().split()
    if not words or words[0] not in BANNERS:
        raise file.error("the file does not begin with %%MatrixMarket")
    if len(words) == 4 and words[1] == b"vector":
        words.append(b"general")
    if len(words) != 5:
        raise file.error(f"the header has {count(len(words), 'word')}, not 5")
    tables = (("object", OBJECTS), ("layout", LAYOUTS), ("field", FIELDS), ("symmetry", SYMMETRIES))
    for (what, known), word in zip(tables, words[1:], strict=True):
        if word not in known:
            raise file.error(
                f"the {what} {shown(word)} is not known",
                hint=f"it can be {quote(name.decode() for name in known)}",
            )
    header = Header(*words[1:])
    if header.layout == b"array" and header.field == b"pattern":
        raise file.error("the field 'pattern' goes with coordinates, not with an array")
    if header.kind != b"matrix" and header.symmetry != b"general":
        raise file.error(f"only matrices have the symmetry {shown(header.symmetry)}")
    return header


def _sizes(file: TextFile) -> tuple[int, ...]:
    words = file.next_words()
    if not words:
        raise file.error("the sizes are missing")
    try:
        sizes = tuple(number(k, word, INDEX) for k, word in enumerate(words))
    except NotANumber as error:
        raise file.error(f"the size {shown(error.word)} is not an integer in range") from None
    if min(sizes) < 0:
        raise file.error(f"the size {min(sizes)} is negative")
    return sizes


def _shape(file: TextFile, header: Header, shape: tuple[int, ...]) -> tuple[int, ...]:
    ndim = {b"matrix": 2, b"vector": 1}.get(header.kind, len(shape))
    if len(shape) != ndim or not ndim:
        more = " and the number of entries" if header.layout == b"coordinate" else ""
        raise file.error(
            f"the size of each dimension{more} expected, {len(shape)} dimensions found"
        )
    if header.symmetry != b"general" and shape[0] != shape[1]:
        raise file.error(f"a matrix of shape {shape} cannot be {header.symmetry.decode()}")
    try:
        check_dimensions(shape)
    except FormatError as error:
        raise file.error(error.message) from None
    return shape


def _coordinates(file: TextFile, header: Header, sizes: tuple[int, ...]) -> Coordinates:
    shape, entries = _shape(file, header, sizes[:-1]), sizes[-1]
    places = tuple(Column("index", INDEX, 1, n, less=1) for n in shape)
    found = read_table(file, places + header.values, entries)
    coords = tuple(index.astype(np.intp, copy=False) for index in found[: len(shape)])
    parts = found[len(shape) :]
    values = _values(header, parts) if parts else np.ones(entries)
    if header.symmetry == b"general":
        return Coordinates(shape, coords, values)
    below = coords[0] != coords[1]
    rows, columns = coords
    mirrored = _mirrored(file, header, values[below])
    coords = (np.append(rows, columns[below]), np.append(columns, rows[below]))
    return Coordinates(shape, coords, np.append(values, mirrored))


def _array(file: TextFile, header: Header, sizes: tuple[int, ...]) -> Array:
    """The array of a file that lists all values, the first index changing fastest."""
    shape = _shape(file, header, sizes)
    if header.symmetry == b"general":
        parts = read_table(file, header.values, math.prod(shape), "values")
        return np.ascontiguousarray(_values(header, parts).reshape(shape, order="F"))
    n, strict = shape[0], header.symmetry == b"skew-symmetric"
    parts = read_table(file, header.values, n * (n - 1 if strict else n + 1) // 2, "values")
    values = _values(header, parts)
    # columns of the lower triangle are rows of the upper one
    rows, columns = np.triu_indices(n, 1 if strict else 0)
    array = np.zeros(shape, header.dtype)
    array[rows, columns] = _mirrored(file, header, values)
    array[columns, rows] = values
    return array


def _values(header: Header, parts: list[Array]) -> Array:
    if header.field != b"complex":
        return parts[0]
    values = np.empty(len(parts[0]), np.complex128)
    values.real, values.imag = parts
    return values


def _mirrored(file: TextFile, header: Header, values: Array) -> Array:
    """The values above the diagonal that mirror those below it."""
    if header.symmetry == b"hermitian":
        return values.conj()
    if header.symmetry == b"symmetric":
        return values
    if values.dtype.kind in "iu":
        least = np.iinfo(values.dtype).min
        lost = (values == least) if least else (values != 0)
        if lost.any():
            raise file.error(f"minus {values[lost][0]} is no {values.dtype}")
    return -values


# -- writing --------------------------------------------------------------------------------


def write_matrix(tensor: Any, path: Path) -> None:
    """Write a matrix. Raises ``FormatError`` for what is no matrix of numbers of fill value 0."""
    content = content_of(tensor)
    if len(content.shape) != 2:
        raise FormatError(
            f"a Matrix Market matrix has 2 dimensions, the tensor {len(content.shape)}",
            hint="a .ttx file takes tensors",
        )
    check_plain(content)
    put(market_text(content, "matrix"), path)


def write_tensor(tensor: Any, path: Path) -> None:
    """Write a tensor. Raises ``FormatError`` for what has no dimensions, or another fill value."""
    content = content_of(tensor)
    check_plain(content)
    put(market_text(content, "tensor"), path)


def market_text(content: Content, kind: str) -> Iterator[bytes]:
    """The texts of a Matrix Market file; ``kind`` is ``"matrix"`` or ``"tensor"``."""
    if isinstance(content, Coordinates):
        sizes, layout, values = [*content.shape, len(content.values)], "coordinate", content.values
    else:
        sizes, layout, values = list(content.shape), "array", content
    banner = f"%%MatrixMarket {kind} {layout} {_field(values)} general"
    yield f"{banner}\n{' '.join(map(str, sizes))}\n".encode()
    if isinstance(content, Coordinates):
        yield from numbers_text(content.coords, content.values)
    else:
        yield from numbers_text([], content.ravel(order="F"))


def _field(values: Array) -> str:
    if values.dtype == np.uint64:
        return "unsigned-integer"
    return {"f": "real", "c": "complex"}.get(values.dtype.kind, "integer")
