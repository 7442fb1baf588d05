"""NumPy arrays as dense tensors over their memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from finch_core.interface.dense_format import dense_format
from finch_core.interface.layout import Layout, layout
from finch_core.interface.level import Format
from finch_core.interface.signatures import TensorSignature, tensor_signature
from finch_core.runtime.storage import MOST_AT_ONCE, TensorStorage
from finch_core.runtime.tensor_records import (
    ADDRESS,
    ADDRESSES,
    address_of,
    as_words,
    cast,
    from_buffer,
    unset,
)

Stored = TypeVar("Stored", bound=TensorStorage)


def from_array(array: np.ndarray[Any, Any], kind: type[Stored]) -> Stored:
    """A dense tensor of class ``kind`` over a NumPy array's memory, or over a copy if the array is
    not C-contiguous and aligned. The shape is the array's, of any number of dimensions."""
    flags = array.flags
    signature, place = array_signature(array.ndim, array.dtype, not flags.writeable)
    if not (flags.c_contiguous and flags.aligned):
        array = np.require(array, requirements=("C", "ALIGNED"))
    start = address_of(array)
    tensor = kind.__new__(kind)
    tensor.format, tensor.signature, tensor.layout = signature.format, signature, place
    words = [*array.shape, start, array.size]
    if array.ndim:
        words.append(0)
    tensor.record = own = np.array(words, np.uint64)
    tensor.address = record = int(cast(ADDRESS, from_buffer(own)))
    tensor.arrays = [array.reshape(-1)]
    stop = start + array.nbytes
    tensor.memory = ((start, stop),) if stop > start else ((record, record + 8),)
    tensor.state = object()
    return tensor


SMALL = 512
"""Bytes of an array up to which several are allocated at once: at most 16 KiB are kept by one that
is in use."""


def dense_makers(
    format: Format, kind: type[Stored]
) -> Callable[[tuple[int, ...]], Callable[[], Stored]]:
    """A function that, given a shape, gives one that makes tensors of class ``kind`` in a format of
    dense levels, of this shape, over new memory whose contents are not set.

    Small ones are parts of larger arrays, twice as many each time: to allocate and to find an
    address takes longer than a small kernel."""
    made, dtype, new = unset(format), format.dtype, kind.__new__
    (part,) = made.layout.buffers
    place, signature, parts, words = part.offset, made.signature, made.layout, made.record.size
    has_buffer = dtype.kind in "biufc"  # as cffi sees it (see ``address_of``)

    def maker(shape: tuple[int, ...]) -> Callable[[], Stored]:
        cells = math.prod(shape)
        size = cells * dtype.itemsize
        template = made.record.copy()
        for k, n in enumerate(shape):
            template[k] = n
        template[place + 1] = cells
        free: list[tuple[Any, Any, int, int]] = []
        pop, made_last = free.pop, 0

        def more() -> tuple[Any, Any, int, int]:
            """New records and arrays with their addresses, of which one is given."""
            nonlocal made_last
            made_last = count = min(2 * made_last, MOST_AT_ONCE) or 1
            if count == 1:
                record, values = template.copy(), np.empty(cells, dtype)
                record[place] = start = address_of(values)
                return record, values, start, int(cast(ADDRESS, from_buffer(record)))
            values, records = np.empty((count, cells), dtype), np.empty((count, words), np.uint64)
            start, address = address_of(values), address_of(records)
            starts = range(start, start + count * size, size)
            records[:] = template
            records[:, place] = starts
            addresses = range(address, address + 8 * count * words, 8 * words)
            first, *others = zip(records, values, starts, addresses, strict=True)
            free.extend(others)
            return first

        def make_small() -> Stored:
            tensor = new(kind)
            tensor.format, tensor.signature, tensor.layout = format, signature, parts
            try:
                tensor.record, values, start, tensor.address = pop()
            except IndexError:
                tensor.record, values, start, tensor.address = more()
            tensor.arrays = [values]
            tensor.memory = ((start, start + size),)
            tensor.state = object()
            return tensor

        blank: list[tuple[Any, int, int, Any, Any]] = []
        pop_blank = blank.pop

        def more_records() -> tuple[Any, int, int, Any, Any]:
            """New records with their addresses, where each has the address of its values among the
            words of all, and these words to be set and to be read; of which one is given."""
            nonlocal made_last
            made_last = count = min(2 * made_last, MOST_AT_ONCE) or 1
            records = np.empty((count, words), np.uint64)
            records[:] = template
            address = address_of(records)
            first, *others = zip(
                records, range(address, address + 8 * count * words, 8 * words),
                range(place, count * words, words), repeat(as_words(records)),
                repeat(cast(ADDRESSES, address)), strict=False,
            )  # fmt: skip
            blank.extend(others)
            return first

        def make() -> Stored:
            tensor = new(kind)
            tensor.format, tensor.signature, tensor.layout = format, signature, parts
            values = np.empty(cells, dtype)
            try:
                own, address, word, pointers, numbers = pop_blank()
            except IndexError:
                own, address, word, pointers, numbers = more_records()
            if has_buffer:
                pointers[word] = from_buffer(values)
                start = numbers[word]
            else:
                own[place] = start = address_of(values)
            tensor.record, tensor.address, tensor.arrays = own, address, [values]
            tensor.memory = ((start, start + size),) if size else ((address, address + own.nbytes),)
            tensor.state = object()
            return tensor

        return make_small if 0 < size <= SMALL else make

    return maker


@lru_cache(maxsize=256)
def array_signature(
    ndim: int, dtype: np.dtype[Any], readonly: bool, /
) -> tuple[TensorSignature, Layout]:
    """The signature and layout that all arrays of one dtype and ``ndim`` share."""
    format = dense_format(ndim, np.zeros((), dtype)[()], dtype)
    place = layout(format)
    assert [part.offset for part in place.buffers] == [ndim]
    assert place.words == ndim + 2 + (ndim > 0)
    return tensor_signature(format, fixed=True, readonly=readonly), place
