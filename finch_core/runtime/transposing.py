"""Large matrices in rows of lists, sorted by their columns instead: by kernels that count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_core.runtime.backends import compiles
from finch_core.runtime.counting_sort import transposed_rows
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.worth import are_few

ROWS = ["dense", "compressed", "values"]

Rows = tuple[Any, Any, Any]
"""Where the entries of each row begin, their columns and values."""


def transposed(source: Any, compiled: Callable[[Any], Any]) -> Rows | None:
    """The rows of the transpose of ``source``, if it is a matrix in rows, and calls like this have
    had many entries; else None. ``compiled`` gives the kernel of a function."""
    if source.__class__ is not Tensor or not has_rows(source):
        return None
    (n, m), (_, lists, leaf) = source.shape, source.layout.fields
    pointers = source.arrays[lists["ptr"].number][: n + 1]
    count = int(pointers[-1]) if len(pointers) else 0
    if not n or count < m // 2 or source.dtype.kind not in "biufc":
        return None
    if are_few(("transposed", source.signature), count) or not compiles():
        return None
    indices = source.arrays[lists["idx"].number][:count]
    values = source.arrays[leaf["val"].number][:count]
    return transposed_rows(pointers, indices, values, m, compiled)


def transposed_into(
    out: Any, source: Any, compiled: Callable[[Any], Any]
) -> list[dict[str, Any]] | None:
    """The fields of ``out`` with the elements of the transpose of ``source``, where both are
    matrices in rows with equal fills and dtypes; else None (see ``transposed``)."""
    if source.__class__ is not Tensor or not has_rows(source) or not has_rows(out):
        return None
    if source.dtype != out.dtype or source.fill_value != out.fill_value:
        return None
    fields = out.layout.fields[1]
    most = min(np.iinfo(fields[name].field.dtype).max for name in ("ptr", "idx"))
    if max((*source.shape, source.nstored)) > most:
        return None
    found = transposed(source, compiled)
    if found is None:
        return None
    starts, indices, values = found
    dtypes = [fields[name].field.dtype for name in ("ptr", "idx")]
    starts, indices = starts.astype(dtypes[0], copy=False), indices.astype(dtypes[1], copy=False)
    return [{}, {"ptr": starts, "idx": indices}, {"val": values}]


def has_rows(tensor: Any) -> bool:
    """Whether a tensor is a matrix in rows of lists."""
    return [getattr(level, "layout", "") for level in tensor.format.levels()] == ROWS


__all__ = ["has_rows", "transposed", "transposed_into"]
