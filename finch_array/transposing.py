"""Large matrices in rows of lists, sorted by their columns instead: by kernels that count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finch_array.worth import are_few
from finch_core.runtime.backends import compiles
from finch_core.runtime.convert import kernel_of
from finch_core.runtime.counting_sort import transposed_rows
from finch_core.runtime.tensor import Tensor

ROWS = ["dense", "compressed", "values"]


def transposed_fields(source: Any, order: Sequence[int]) -> list[Any] | None:
    """Where the columns of ``source`` begin, the rows and the values of their entries, if it is a
    matrix in rows, ``order`` is that of its columns, and calls like this have had many entries;
    else None."""
    if source.__class__ is not Tensor or tuple(order) != (1, 0):
        return None
    if [getattr(level, "layout", "") for level in source.format.levels()] != ROWS:
        return None
    (n, m), (_, lists, leaf) = source.shape, source.layout.fields
    pointers = source.arrays[lists["ptr"].number][: n + 1]
    count = int(pointers[-1]) if len(pointers) else 0
    if count < m // 2 or are_few(("transposed", source.signature), count) or not compiles():
        return None
    indices = source.arrays[lists["idx"].number][:count]
    values = source.arrays[leaf["val"].number][:count]
    if not n or values.dtype.kind not in "biufc":
        return None
    return list(transposed_rows(pointers, indices, values, m, kernel_of))


__all__ = ["transposed_fields"]
