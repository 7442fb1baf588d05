"""The fibers along the last dimension as the rows of a matrix, whatever levels are above them.

What is computed in each fiber by itself needs no loop over the other dimensions, in which most
fibers may not be there: one kernel for all levels above, and work in proportion to what is stored.
"""

from __future__ import annotations

from typing import Any

from finch_array.units import contents_of
from finch_core.errors import FormatError
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.records import evolve
from finch_core.runtime.tensor import Tensor


def as_rows(tensor: Tensor) -> Tensor | None:
    """A matrix over the memory of a tensor's last level, each fiber of which is a row; None where
    that level cannot be below a dense one, or shares its entries with those above, and where these
    compute elements."""
    levels = tensor.format.levels()
    *outer, last, leaf = levels
    if any(level.structure.joined for level in levels[:-1]):
        return None
    if not all(level.passes_values for level in outer):
        return None
    try:
        format: Format = hub().layout("dense")(evolve(last, lvl=leaf))  # type: ignore[misc]
    except FormatError:
        return None
    arrays = tensor.arrays_in_use()
    *_, (_, count, _, _), _leaf = tensor.levels()
    depth = len(outer)
    fields = [
        {},
        *(_fields(tensor, arrays, depth + k, level) for k, level in enumerate([last, leaf])),
    ]
    made = Tensor.bare(format)
    made.set_fields((count, tensor.shape[-1]), fields)
    return made


def below(tensor: Tensor, rows: Tensor, format: Format) -> Tensor:
    """A tensor in ``format``, whose outer levels are copies of those of ``tensor``, with the fibers
    that are the rows of a matrix."""
    outer, arrays = tensor.ndim - 1, tensor.arrays_in_use()
    levels = format.levels()
    copied = [_fields(tensor, arrays, k, levels[k], True) for k in range(outer)]
    used = rows.arrays_in_use()
    made = Tensor.bare(format)
    new = [_fields(rows, used, 1 + k, level) for k, level in enumerate(levels[outer:])]
    made.set_fields(tensor.shape, [*copied, *new])
    return made


def _fields(
    tensor: Tensor, arrays: Any, depth: int, level: Format, copied: bool = False
) -> dict[str, Any]:
    """What a level of a tensor holds, by name."""
    parts = tensor.layout.fields[depth]
    own = [(f.name, None if f.scratch else parts.get(f.name), f) for f in level.fields]
    return contents_of(tensor, arrays, own, copied)


__all__ = ["as_rows", "below"]
