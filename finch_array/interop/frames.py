"""Data frames and series of pandas: their sparse columns are coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_array.interop.libraries import library
from finch_array.operands import array_of, is_dense
from finch_array.run import coordinates, sorted_tensor
from finch_core.errors import FormatError
from finch_core.runtime.convert import asarray

EXTRA = "pandas"


def from_pandas(frame: Any) -> Any:
    """A matrix of a frame, a vector of a series.

    Sparse columns give a sparse array with the fill that most of them have; each element of a
    column with another fill is stored. Raises ``FormatError`` for columns that are no numbers,
    and ``TypeError`` for what is no frame or series.
    """
    pandas = library("pandas", EXTRA)
    if not isinstance(frame, (pandas.DataFrame, pandas.Series)):
        raise TypeError(
            f"from_pandas takes a data frame or a series, not {type(frame).__name__}: "
            "asarray takes arrays"
        )
    columns = [frame] if frame.ndim == 1 else [frame.iloc[:, k] for k in range(frame.shape[1])]
    if columns and all(isinstance(c.dtype, pandas.SparseDtype) for c in columns):
        parts = [c.array for c in columns]
        return _sparse(parts, frame.shape)
    found = frame.to_numpy()
    if found.dtype.kind not in "biufcmM":
        kinds = ", ".join(dict.fromkeys(str(c.dtype) for c in columns))
        raise FormatError(
            f"this {type(frame).__name__} has values of {kinds}, which are no numbers",
            hint='frame["column"].astype(float) or .to_numpy(float), or '
            'frame.select_dtypes("number")',
        )
    return asarray(np.ascontiguousarray(found))


def _sparse(parts: list[Any], shape: tuple[int, ...]) -> Any:
    fills = np.asarray([part.fill_value for part in parts])
    kinds, kind, counts = np.unique(fills, return_inverse=True, return_counts=True)
    most = counts.argmax()
    fill, whole = kinds[most], kind.ravel() != most
    rows = [
        np.arange(shape[0]) if every else np.asarray(part.sp_index.to_int_index().indices, np.intp)
        for part, every in zip(parts, whole, strict=True)
    ]
    values = np.concatenate(
        [
            np.asarray(part) if every else part.sp_values
            for part, every in zip(parts, whole, strict=True)
        ]
    )
    column = np.repeat(np.arange(len(parts)), [len(r) for r in rows])
    coords = [np.concatenate(rows), column][: len(shape)]
    return sorted_tensor(shape, coords, values, values.dtype.type(fill))


def to_pandas(array: Any, index: Any = None, columns: Any = None) -> Any:
    """A frame or series, with sparse columns unless the array is dense.

    Raises ``FormatError`` for more than two dimensions, or none.
    """
    pandas = library("pandas", EXTRA)
    found = array_of(array)
    if not 1 <= found.ndim <= 2:
        raise FormatError(f"pandas has no frame of {found.ndim} dimensions")
    if is_dense(found):
        plain = found.to_numpy()
        if found.ndim == 1:
            return pandas.Series(plain, index=index)
        return pandas.DataFrame(plain, index=index, columns=columns)
    shape, coords, values = coordinates(found)
    n, m = (*shape, 1)[:2]
    if found.ndim == 2:
        order = np.lexsort(coords)
        coords, values = [c[order] for c in coords], values[order]
        ends = np.searchsorted(coords[1], np.arange(m + 1))
    else:
        ends = np.asarray([0, len(values)])
    kept = [
        _column(pandas, n, coords[0][a:b], values[a:b], found)
        for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]
    if found.ndim == 1:
        return pandas.Series(kept[0], index=index)
    names = range(m) if columns is None else columns
    if m == 0:
        return pandas.DataFrame(np.zeros((n, 0)), index=index, columns=columns)
    frame = pandas.DataFrame(dict(enumerate(kept)), index=index)
    frame.columns = names
    return frame


def _column(pandas: Any, n: int, rows: Any, values: Any, array: Any) -> Any:
    kind, fill, places = pandas.arrays.SparseArray, array.fill_value, rows.astype(np.int32)
    if hasattr(kind, "from_indices"):
        return kind.from_indices(values, places, n, fill)
    index = library("pandas._libs.sparse", EXTRA).IntIndex(n, places)
    return kind(values, sparse_index=index, dtype=pandas.SparseDtype(array.dtype, fill))
