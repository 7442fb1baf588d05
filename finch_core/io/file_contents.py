"""The content of a file, before it becomes a tensor: coordinates or an array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
