"""Coordinates in tables of Arrow: a column of indices for each dimension, ``i0``, ``i1``, ..., and
the column ``value``; the shape and the fill value are in the metadata of the table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from finch_array.interop.libraries import library, malformed
from finch_core.errors import FormatError
from finch_core.io import Coordinates, content_of

EXTRA = "arrow"
KIND = "a table of coordinates"
_KEY = b"finch"


def load_parquet(path: Path) -> Coordinates:
    """Coordinates from a Parquet file."""
    return _loaded(path, library("pyarrow.parquet", EXTRA).read_table)


def load_arrow(path: Path) -> Coordinates:
    """Coordinates from an Arrow (Feather) file."""
    return _loaded(path, library("pyarrow.feather", EXTRA).read_table)


def save_parquet(tensor: Any, path: Path) -> None:
    """Write the coordinates of a tensor to a Parquet file."""
    library("pyarrow.parquet", EXTRA).write_table(table_of(tensor), path)


def save_arrow(tensor: Any, path: Path) -> None:
    """Write the coordinates of a tensor to an Arrow (Feather) file."""
    library("pyarrow.feather", EXTRA).write_feather(table_of(tensor), str(path))


def _loaded(path: Path, read: Callable[[str], Any]) -> Coordinates:
    with malformed(path, KIND):
        return coordinates_of(read(str(path)))


def table_of(tensor: Any) -> Any:
    """The coordinates of a tensor as a table of Arrow. Raises ``FormatError`` for complex numbers
    and tuples."""
    arrow = library("pyarrow", EXTRA)
    found = content_of(tensor)
    if not isinstance(found, Coordinates):
        grid = np.indices(found.shape).reshape(found.ndim, found.size)
        found = Coordinates(found.shape, tuple(grid), found.reshape(-1))
    if found.values.dtype.kind not in "biuf":
        raise FormatError(f"tables of Arrow have no values of {found.values.dtype}")
    fill = np.asarray(found.fill, found.values.dtype)
    told = {"shape": list(found.shape), "fill": repr(fill.item())}
    names = [*(f"i{k}" for k in range(len(found.coords))), "value"]
    table = arrow.table(dict(zip(names, [*found.coords, found.values], strict=True)))
    return table.replace_schema_metadata({_KEY: json.dumps(told)})


def coordinates_of(table: Any) -> Coordinates:
    """The coordinates in a table: all columns but the last are indices, and that has the values.

    Without metadata each dimension is as long as its greatest index needs. Raises ``FormatError``
    for columns of indices that are no integers, and missing values.
    """
    *coords, values = (_plain(column) for column in table.columns)
    bad = [c.dtype for c in coords if c.dtype.kind not in "iu"]
    if bad or values.dtype.kind not in "biuf":
        found = ", ".join(str(c.dtype) for c in (*coords, values))
        raise FormatError(f"its columns are {found}, not integers and numbers")
    told = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
    shape = told.get("shape", [int(c.max(initial=-1)) + 1 for c in coords])
    if len(shape) != len(coords):
        raise FormatError(f"{len(coords)} columns of indices for the shape {shape}")
    for c, n in zip(coords, shape, strict=True):
        if len(c) and not (c.min() >= 0 and c.max() < n):
            raise FormatError(f"an index is not from 0 up to {n}")
    text = told.get("fill", "0")
    fill = text == "True" if values.dtype.kind == "b" else values.dtype.type(text)
    return Coordinates(tuple(int(n) for n in shape), tuple(coords), values, fill)


def _plain(column: Any) -> Any:
    if column.null_count:
        raise FormatError("a value is missing")
    return np.asarray(column.to_numpy())


__all__ = ["coordinates_of", "table_of"]
