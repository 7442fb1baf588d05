"""What a file holds, before a tensor is made of it."""

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
    """A tensor as a file lists it: ``coords[k]`` are 0-based indices of dimension ``k``.

    Duplicates are summed when a tensor is made of it.
    """

    shape: tuple[int, ...]
    coords: tuple[Array, ...]
    values: Array
    fill: Any = 0


Content = Coordinates | Array
"""What a file holds: coordinates with values, or an array."""


def check_dimensions(shape: Sequence[int]) -> None:
    """Refuse, by ``FormatError``, dimensions that are too many, negative or too long."""
    if len(shape) > MOST_DIMENSIONS:
        raise FormatError(f"{len(shape)} dimensions are more than {MOST_DIMENSIONS}")
    for n in shape:
        if n < 0:
            raise FormatError(f"the dimension {n} is negative")
        if n > MOST_INDICES:
            raise FormatError(f"the dimension {n} is too long", hint=f"up to {MOST_INDICES}")


def numbers_text(columns: list[Array], values: Array) -> bytes:
    """A line for each value: what the columns say of it, and the value."""
    texts: list[Iterator[str]] = [map(str, column.tolist()) for column in columns]
    if values.dtype.kind == "c":
        texts += [map(repr, values.real.tolist()), map(repr, values.imag.tolist())]
    elif values.dtype.kind == "f":
        texts.append(map(repr, values.tolist()))
    else:
        texts.append(map(str, map(int, values.tolist())))
    return "".join([" ".join(words) + "\n" for words in zip(*texts, strict=True)]).encode()
