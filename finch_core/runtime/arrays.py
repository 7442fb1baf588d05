"""NumPy arrays as dense tensors over their memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from finch_core.interface.layout import Layout, layout
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.interface.signatures import TensorSignature, tensor_signature
from finch_core.runtime.storage import TensorStorage
from finch_core.runtime.tensor_records import ADDRESS, address_of, cast, from_buffer, unset

Stored = TypeVar("Stored", bound=TensorStorage)


def dense_format(ndim: int, fill: Any, dtype: Any = None) -> Format:
    """The format of a NumPy array: ``ndim`` dense levels over values of ``dtype`` (default: the
    dtype of ``fill``), with the fill value ``fill``."""
    format: Format = hub().layout("values")(fill, dtype)
    for _ in range(ndim):
        format = hub().layout("dense")(format)
    return format


def from_array(array: np.ndarray[Any, Any], kind: type[Stored]) -> Stored:
    """A dense tensor of class ``kind`` over a NumPy array's memory, or over a copy if the array is
    not C-contiguous and aligned. The shape is the array's, of any number of dimensions."""
    flags = array.flags
    signature, place = _array_signature(array.ndim, array.dtype, not flags.writeable)
    if not (flags.c_contiguous and flags.aligned):
        array = np.require(array, requirements=("C", "ALIGNED"))
    start = address_of(array)
    tensor = kind.__new__(kind)
    tensor.format, tensor.signature, tensor.layout = signature.format, signature, place
    tensor.record = np.array((*array.shape, start, array.size, 0), np.uint64)
    tensor.address = record = address_of(tensor.record)
    tensor.arrays = [array.reshape(-1)]
    stop = start + array.nbytes
    tensor.memory = ((start, stop),) if stop > start else ((record, record + 8),)
    tensor.state = object()
    return tensor


def dense_maker(format: Format, shape: tuple[int, ...], kind: type[Stored]) -> Callable[[], Stored]:
    """A function that makes tensors of class ``kind`` in a format of dense levels, of this shape,
    over new memory whose contents are not set."""
    made, cells, dtype = unset(format), math.prod(shape), format.dtype
    (part,) = made.layout.buffers
    place, size = part.offset, cells * dtype.itemsize
    record = made.record.copy()
    record[: len(shape)] = shape
    record[place + 1] = cells
    signature, parts, new = made.signature, made.layout, kind.__new__
    has_buffer = dtype.kind in "biufc"  # as cffi sees it (see ``address_of``)

    def make() -> Stored:
        tensor = new(kind)
        tensor.format, tensor.signature, tensor.layout = format, signature, parts
        values = np.empty(cells, dtype)
        start = int(cast(ADDRESS, from_buffer(values))) if has_buffer else address_of(values)
        tensor.record = own = record.copy()
        own[place] = start
        tensor.address = address = int(cast(ADDRESS, from_buffer(own)))
        tensor.arrays = [values]
        tensor.memory = ((start, start + size),) if size else ((address, address + own.nbytes),)
        tensor.state = object()
        return tensor

    return make


@lru_cache(maxsize=256)
def _array_signature(
    ndim: int, dtype: np.dtype[Any], readonly: bool, /
) -> tuple[TensorSignature, Layout]:
    """The signature and layout that all arrays of one dtype and ``ndim`` share."""
    format = dense_format(ndim, np.zeros((), dtype)[()], dtype)
    place = layout(format)
    assert [part.offset for part in place.buffers] == [ndim]
    assert place.words == ndim + 2 + (ndim > 0)
    return tensor_signature(format, fixed=True, readonly=readonly), place
