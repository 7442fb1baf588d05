"""FROSTT's coordinate files, ``.tns``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from finch_core.errors import FormatError, count
from finch_core.io.file_contents import (
    Coordinates,
    check_dimensions,
    check_plain,
    content_of,
    numbers_text,
    put,
)
from finch_core.io.text_tables import Column, TextFile, read_table

COMMENTS = b"#%"
INDEX = Column("index", np.dtype(np.int64), 0, less=1)
_SHAPE = re.compile(rb"# ?shape:((?: +[0-9]{1,19})+)")
VALUE = Column("value", np.dtype(np.float64))


def read_frostt(path: Path) -> Coordinates:
    """The entries of a FROSTT file: each line has one index for each dimension and a value.

    Indices count from 1, or from 0 in a dimension where a 0 occurs. The shape is that of a comment
    before the entries, ``# shape: 2 3``, or the smallest that contains all entries; values are
    float64. Raises ``FormatError`` for a malformed file.
    """
    with TextFile(path, COMMENTS) as file:
        words, told = _head(path)
        order = words - 1
        columns = read_table(file, (INDEX,) * order + (VALUE,))
    coords = tuple(index.astype(np.intp, copy=False) for index in columns[:-1])
    for index in coords:
        if index.min() < 0:  # it has a 0 in the file
            index += 1
    shape = tuple(int(index.max()) + 1 for index in coords)
    try:
        check_dimensions(shape if told is None else told)
    except FormatError as error:
        raise FormatError(f"{path.name}: {error.message}") from None
    if told is not None:
        for k, (n, least) in enumerate(zip(told, shape, strict=True)):
            if n < least:
                raise FormatError(
                    f"{path.name}: dimension {k} is {n} by its comment, and an entry is at {least}"
                )
    return Coordinates(told or shape, coords, columns[-1])


def _head(path: Path) -> tuple[int, tuple[int, ...] | None]:
    """The number of words in the first line that is neither blank nor a comment, and the shape
    that a comment before it tells, if one does."""
    told, told_at = None, 0
    with TextFile(path, COMMENTS) as file:
        words = 0
        while not words and (line := file.next_line()):
            if match := _SHAPE.fullmatch(line.strip()):
                told, told_at = tuple(map(int, match[1].split())), file.line
            elif not line.strip().startswith((b"#", b"%")):
                words = len(line.split())
        if told is not None and words and len(told) != words - 1:
            found = count(len(told), "dimension")
            raise file.error(f"{found} for entries of {words} numbers", told_at)
        if not words:
            raise file.error("there is no entry, so the number of dimensions is not known")
        if words < 2:
            raise file.error("indices and a value are expected")
        try:
            check_dimensions((1,) * (words - 1))
        except FormatError as error:
            raise file.error(error.message) from None
        return words, told


def write_frostt(tensor: Any, path: Path) -> None:
    """Write the entries of a tensor, after a comment with its shape where they do not tell it.
    Raises ``FormatError`` for one without entries or dimensions,
    of complex numbers or integers that no float64 holds, or of another fill value than 0."""
    content = content_of(tensor)
    check_plain(content)
    if not isinstance(content, Coordinates):
        coords = tuple(index.ravel() for index in np.indices(content.shape))
        content = Coordinates(content.shape, coords, content.ravel())
    if not len(content.values):
        raise FormatError(
            "a .tns file tells its dimensions by its entries, and the tensor has none",
            hint="a .ttx or .npz file takes it",
        )
    if content.values.dtype.kind == "c":
        raise FormatError("a .tns file holds real values, the tensor has complex ones")
    _check_exact(content.values)
    put(_text(content), path)


def _check_exact(values: Any) -> None:
    """Refuse integers that are rounded when they are read, as float64."""
    if values.dtype.kind not in "iu":
        return
    large = values[(values > 2**53) | (values < -(2**53))].tolist()
    rounded = next((v for v in large if int(float(v)) != v), None)
    if rounded is not None:
        raise FormatError(
            f"a .tns file holds values of float64, and {rounded} is none",
            hint="a .ttx or .npz file takes it",
        )


def _text(content: Coordinates) -> Iterator[bytes]:
    least = tuple(int(index.max()) + 1 for index in content.coords)
    if least != content.shape:
        yield f"# shape: {' '.join(map(str, content.shape))}\n".encode()
    yield from numbers_text(content.coords, content.values)
