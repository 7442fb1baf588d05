"""``.smtx``: a line of sizes, a line of row pointers, a line of columns."""

from __future__ import annotations

import numpy as np

from finch_core.errors import FormatError
from finch_core.io import Coordinates, FileFormat, content_of
from finch_core.plugins import hookimpl


def load(path):
    lines = path.read_text(errors="replace").splitlines()
    try:
        rows, columns, entries = (int(word) for word in lines[0].split(","))
        pointers, indices = (np.array(line.split(), np.int64) for line in lines[1:3])
    except (IndexError, ValueError, OverflowError) as error:
        raise FormatError(f"{path.name} is not an .smtx file: {error}") from None
    counts = np.diff(pointers)
    if len(pointers) != rows + 1 or len(indices) != entries or pointers[0] != 0:
        raise FormatError(f"{path.name}: the first line does not fit the others")
    if (counts < 0).any() or pointers[-1] != entries:
        raise FormatError(f"{path.name}: the row pointers are not in order")
    if entries and (indices.min() < 0 or indices.max() >= columns):
        raise FormatError(f"{path.name}: a column is not below {columns}")
    row = np.repeat(np.arange(rows), counts)
    return Coordinates((rows, columns), (row, indices), np.ones(entries))


def save(tensor, path):
    if tensor.ndim != 2:
        raise FormatError(f"an .smtx file holds a matrix, the tensor has {tensor.ndim} dimensions")
    if tensor.fill_value != 0:
        raise FormatError(f"an .smtx file has the fill 0, the tensor {tensor.fill_value}")
    found = content_of(tensor)
    if not isinstance(found, Coordinates):  # the format stores every element
        coords = np.nonzero(found)
        found = Coordinates(found.shape, coords, found[coords])
    rows, columns = found.coords
    order = np.lexsort((columns, rows))
    pointers = np.searchsorted(rows[order], np.arange(found.shape[0] + 1))
    sizes = f"{found.shape[0]}, {found.shape[1]}, {len(rows)}"
    lines = [sizes, *(" ".join(map(str, a.tolist())) for a in (pointers, columns[order]))]
    path.write_text("\n".join(lines) + "\n")


@hookimpl
def finch_file_format():
    return FileFormat("smtx", (".smtx",), load, save)
