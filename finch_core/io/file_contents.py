"""The content of a file, before it becomes a tensor: coordinates or an array."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.abi import MOST_INDICES
from finch_core.records import frozen

Array = np.ndarray[Any, np.dtype[Any]]

MOST_DIMENSIONS = 32


@frozen(eq=False)
class Coordinates:
    """The entries of a file: ``coords[k]`` is an array of 0-based indices of dimension ``k``,
    ``values`` an array of the same length. Duplicates are added when it becomes a tensor."""

    shape: tuple[int, ...]
    coords: tuple[Array, ...]
    values: Array
    fill: Any = 0


Content = Coordinates | Array
"""The content of a file."""


def content_of(tensor: Any) -> Content:
    """The values of a tensor or wrapper: an array if its format stores every element, else the
    coordinates of the stored entries, in row-major order. A ``Content`` is returned as it is."""
    from finch_core.runtime.convert import stored_coordinates, to_coordinates
    from finch_core.runtime.tensor import Tensor

    if isinstance(tensor, (Coordinates, np.ndarray)):
        return tensor
    if not isinstance(tensor, Tensor):
        shape, coords, values = to_coordinates(tensor)
    elif all(level.stores_fill or level.is_leaf for level in tensor.format.levels()):
        return tensor.to_numpy()
    else:
        shape, coords, values = stored_coordinates(tensor)
    return Coordinates(shape, tuple(coords), values, tensor.fill_value)


def array_of(content: Content) -> Array:
    """The content of a file as an array of all elements."""
    if not isinstance(content, Coordinates):
        return content
    array = np.full(content.shape, content.fill, content.values.dtype)
    array[content.coords] = content.values
    return array


def check_plain(content: Content) -> None:
    """Raise ``FormatError`` for what files of numbers with fill value 0 cannot hold."""
    values = content.values if isinstance(content, Coordinates) else content
    if not content.shape:
        raise FormatError(
            "the file format has no tensors without dimensions", hint="write an .npz file"
        )
    if values.dtype.names is not None:
        raise FormatError("the file format holds numbers, the tensor tuples")
    if isinstance(content, Coordinates) and content.fill != 0:
        raise FormatError(
            f"the file format has fill value 0, the tensor {content.fill!r}",
            hint="write an .npz file, which keeps the fill value",
        )


def put(text: bytes, path: Path) -> None:
    """Write ``text`` to a file, gzipped if the path ends in ``.gz``."""
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def check_dimensions(shape: Sequence[int]) -> None:
    """Raise ``FormatError`` if there are too many dimensions, or one is negative or too long."""
    if len(shape) > MOST_DIMENSIONS:
        raise FormatError(f"{len(shape)} dimensions are more than {MOST_DIMENSIONS}")
    for n in shape:
        if n < 0:
            raise FormatError(f"the dimension {n} is negative")
        if n > MOST_INDICES:
            raise FormatError(f"the dimension {n} is too long", hint=f"up to {MOST_INDICES}")


def numbers_text(columns: list[Array], values: Array) -> bytes:
    """A line for each value: its entries in the columns, and the value."""
    texts: list[Iterator[str]] = [map(str, column.tolist()) for column in columns]
    if values.dtype.kind == "c":
        texts += [map(repr, values.real.tolist()), map(repr, values.imag.tolist())]
    elif values.dtype.kind == "f":
        texts.append(map(repr, values.tolist()))
    else:
        texts.append(map(str, map(int, values.tolist())))
    return "".join([" ".join(words) + "\n" for words in zip(*texts, strict=True)]).encode()
