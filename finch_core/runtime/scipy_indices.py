"""The dtypes of the index arrays of SciPy's sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.errors import FormatError, IndexOverflow


def with_index_dtype(array: Any, dtype: Any) -> Any:
    """A SciPy array over the same values whose index arrays are of an integer dtype, copies where
    they were of another. Raises ``FormatError`` for a dtype that SciPy's index arrays do not have,
    and ``IndexOverflow`` for one that does not hold the shape and the number of values."""
    wanted: np.dtype[Any] = np.dtype(dtype)
    if wanted not in (np.int32, np.int64):
        raise FormatError(f"SciPy's index arrays are of int32 or int64, not of {wanted}")
    most = max(*array.shape, array.nnz)
    if most > np.iinfo(wanted).max:
        raise IndexOverflow(
            f"index arrays of {wanted} do not hold {most}, of an array of shape {array.shape} with "
            f"{array.nnz} stored values",
            hint="index_dtype=np.int64 does",
        )
    if array.format == "coo":
        coords = tuple([c.astype(wanted, copy=False) for c in array.coords])
        found = type(array)((array.data, coords), shape=array.shape)
        found.coords = coords  # which SciPy may have made narrower
        return found
    parts = [x.astype(wanted, copy=False) for x in (array.indices, array.indptr)]
    found = type(array)((array.data, *parts), shape=array.shape)
    found.indices, found.indptr = parts
    return found


__all__ = ["with_index_dtype"]
