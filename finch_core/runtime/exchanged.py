"""Tensors whose memory a kernel has exchanged: each takes over what its record says is its own now.

A tensor can hold any memory. An array is the caller's, so its elements are copied back into it,
once, whatever the number of exchanges.
"""

from __future__ import annotations

import ctypes
import operator
from collections import deque
from collections.abc import Sequence
from itertools import starmap
from typing import Any

import numpy as np

from finch_core.interface.abi import CompleteKernel
from finch_core.interface.layout import Part
from finch_core.runtime.storage import TensorStorage
from finch_core.runtime.tensor_records import address_of

Array = np.ndarray[Any, Any]


def settle_exchanged(tensors: Sequence[TensorStorage], kernel: CompleteKernel) -> None:
    """Make the tensors, which may have exchanged buffers with one another in a call of ``kernel``,
    hold the memory that their records name. Buffers that the kernel allocated are left to
    ``adopt_moved``, except where an array's elements are in one.

    A signal's handler may raise in the midst; this may then be called again.
    """
    owners: dict[int, tuple[TensorStorage, Array]] = {}
    for tensor in tensors:
        for part in tensor.layout.buffers:
            array = _own(tensor, part)
            if array.size or tensor.arrays:
                owners[address_of(array)] = tensor, array
    copies: list[tuple[Array, Array]] = []
    taken: list[tuple[TensorStorage, Part, Array]] = []
    unused: list[tuple[int, int]] = []
    for tensor in tensors:
        for part in tensor.layout.buffers:
            address, count = (int(word) for word in tensor.record[part.offset :][:2])
            own = _own(tensor, part)
            found = owners.get(address)
            if address == address_of(own) or (address and not count and found is None):
                continue
            if not address:  # the other has no such buffer between calls
                taken.append((tensor, part, np.empty(0, part.field.dtype)))
            elif tensor.signature.fixed:
                if found is None:
                    nbytes = count * own.itemsize
                    array = _at(address, nbytes, own.dtype)
                    unused.append((address, nbytes))
                else:
                    array = found[1]
                copies.append((own, array[: own.size].copy()))
                taken.append((tensor, part, own))
            elif found is not None:
                array = found[1].copy() if found[0].signature.fixed else found[1]
                taken.append((tensor, part, array))
    _exchange(copies, taken)
    for tensor, _, _ in taken:
        if not tensor.signature.fixed:
            tensor.note_memory()
    for address, nbytes in unused:
        kernel.adopt(address, nbytes)  # and so free it


def _exchange(
    copies: Sequence[tuple[Array, Array]], taken: Sequence[tuple[TensorStorage, Part, Array]]
) -> None:
    """Copy elements, and let each tensor take a buffer. These are calls of C in one call of C, so
    that no signal's handler runs between them: a buffer has one owner at any time."""
    steps: list[tuple[Any, Any, Any]] = [(own, slice(None), elements) for own, elements in copies]
    for tensor, part, array in taken:
        words = np.array((address_of(array), array.size), tensor.record.dtype)
        steps.append((tensor.record, slice(part.offset, part.offset + 2), words))
        if tensor.arrays:
            steps.append((tensor.arrays, part.number, array))
    deque(starmap(operator.setitem, steps), maxlen=0)


def _at(address: int, nbytes: int, dtype: Any) -> Array:
    """The memory at an address as an array, which does not own it."""
    room: Any = (ctypes.c_char * nbytes).from_address(address)
    return np.frombuffer(room, dtype)


def _own(tensor: TensorStorage, part: Part) -> Array:
    """The memory of a buffer before the call."""
    if tensor.arrays:
        return tensor.arrays[part.number]
    (start, stop), dtype = tensor.memory[0], part.field.dtype
    return _at(start, stop - start, dtype) if np.prod(tensor.shape) else np.empty(0, dtype)


__all__ = ["settle_exchanged"]
