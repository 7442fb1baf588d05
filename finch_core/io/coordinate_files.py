"""FROSTT's coordinate files, ``.tns``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from finch_core.errors import FormatError
from finch_core.io.file_contents import Coordinates, check_dimensions
from finch_core.io.text_tables import Column, TextFile, read_table

COMMENTS = b"#%"
INDEX = Column("index", np.dtype(np.int64), 0)
VALUE = Column("value", np.dtype(np.float64))


def read_frostt(path: Path) -> Coordinates:
    """The entries of a FROSTT file: each line has one index for each dimension and a value.

    Indices count from 1, or from 0 in a dimension where a 0 occurs. The shape is the smallest that
    contains all entries; values are float64. Raises ``FormatError`` for a malformed file.
    """
    with TextFile(path, COMMENTS) as file:
        order = _words_of_an_entry(path) - 1
        columns = read_table(file, (INDEX,) * order + (VALUE,))
    coords = tuple(index.astype(np.intp, copy=False) for index in columns[:-1])
    for index in coords:
        if index.min() > 0:
            index -= 1
    shape = tuple(int(index.max()) + 1 for index in coords)
    try:
        check_dimensions(shape)
    except FormatError as error:
        raise FormatError(f"{path.name}: {error.message}") from None
    return Coordinates(shape, coords, columns[-1])


def _words_of_an_entry(path: Path) -> int:
    """The number of words in the first line that is neither blank nor a comment."""
    with TextFile(path, COMMENTS) as file:
        words = len(file.next_words())
        if not words:
            raise file.error("there is no entry, so the number of dimensions is not known")
        if words < 2:
            raise file.error("indices and a value are expected")
        try:
            check_dimensions((1,) * (words - 1))
        except FormatError as error:
            raise file.error(error.message) from None
        return words
