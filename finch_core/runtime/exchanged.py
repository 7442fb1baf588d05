"""Tensors whose memory a kernel has exchanged: each takes over what its record says is its own now.

A tensor can hold any memory. An array is the caller's, so its elements are copied back into it,
once, whatever the number of exchanges.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
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
    ``adopt_moved``, except where an array's elements are in one."""
    owners: dict[int, tuple[TensorStorage, Array]] = {}
    for tensor in tensors:
        for part in tensor.layout.buffers:
            array = _own(tensor, part)
            if array.size or tensor.arrays:
                owners[address_of(array)] = tensor, array
    copies: list[tuple[Array, Array]] = []
    taken: list[tuple[TensorStorage, Part, Array]] = []
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
                array = _allocated(kernel, address, own, count) if found is None else found[1]
                copies.append((own, array[: own.size].copy()))
                taken.append((tensor, part, own))
            elif found is not None:
                array = found[1].copy() if found[0].signature.fixed else found[1]
                taken.append((tensor, part, array))
    for own, elements in copies:
        own[:] = elements
    for tensor, part, array in taken:
        if tensor.arrays:
            tensor.set_array(part, array)
        else:
            tensor.record[part.offset : part.offset + 2] = address_of(array), array.size
        if not tensor.signature.fixed:
            tensor.note_memory()


def _allocated(kernel: CompleteKernel, address: int, like: Array, count: int) -> Array:
    """Memory that the kernel has allocated."""
    return np.frombuffer(kernel.adopt(address, count * like.itemsize), like.dtype, count)


def _own(tensor: TensorStorage, part: Part) -> Array:
    """The memory of a buffer before the call."""
    if tensor.arrays:
        return tensor.arrays[part.number]
    (start, stop), dtype = tensor.memory[0], part.field.dtype
    room: Any = (ctypes.c_char * (stop - start)).from_address(start)
    return np.frombuffer(room, dtype) if np.prod(tensor.shape) else np.empty(0, dtype)


__all__ = ["settle_exchanged"]
