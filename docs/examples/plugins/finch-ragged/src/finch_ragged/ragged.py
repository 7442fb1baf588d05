"""``Ragged``: rows of different lengths, one after the other in one array.

It stands for a class of a library that knows nothing of Finch: the conversion recognises it by its
full name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core import FormatError, Tensor
from finch_core.interface.conversions import Conversion
from finch_core.plugins import hookimpl, hub


class Ragged:
    """Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``."""

    def __init__(self, values: Any, offsets: Any) -> None:
        self.values = np.asarray(values)
        self.offsets = np.asarray(offsets, np.int64)

    def rows(self) -> list[list[Any]]:
        """The rows as lists."""
        ends = zip(self.offsets[:-1], self.offsets[1:], strict=True)
        return [self.values[start:stop].tolist() for start, stop in ends]


def take(ragged: Ragged) -> Tensor:
    """A tensor whose rows are stored up to their lengths, over the memory of ``ragged``."""
    lengths = np.diff(ragged.offsets)
    columns = np.concatenate([np.arange(n) for n in lengths]) if lengths.size else lengths
    dense, compressed = (hub().layout(layout) for layout in ("dense", "compressed"))
    leaf = hub().layout("values")(np.zeros((), ragged.values.dtype)[()])
    return Tensor.from_buffers(
        dense(compressed(leaf)),
        (len(lengths), int(lengths.max(initial=0))),
        {"ptr": ragged.offsets, "idx": columns.astype(np.int64), "val": ragged.values},
    )


def give(tensor: Tensor) -> Ragged:
    """The rows of a matrix up to the last value that is not its fill."""
    if tensor.ndim != 2:
        raise FormatError(f"a Ragged has rows; the tensor has {tensor.ndim} dimensions")
    array = np.asarray(tensor)
    stored = array != tensor.fill_value
    lengths = (stored * np.arange(1, array.shape[1] + 1)).max(axis=1, initial=0)
    rows = [row[:n] for row, n in zip(array, lengths, strict=True)]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Ragged(np.concatenate([array[:0, :0].ravel(), *rows]), offsets)


@hookimpl
def finch_conversion() -> Conversion:
    """Recognised by the name of its class, so that its library need not be imported."""
    return Conversion(
        "ragged", "", "ragged arrays", take, give, types=("finch_ragged.ragged.Ragged",)
    )
