"""Memory that ran out in a kernel: which tensor has no room for what its shape asks for."""

from __future__ import annotations

import math
from collections.abc import Iterable

from finch_core.errors import OutOfMemory, Span
from finch_core.interface.layout import local_records
from finch_core.ir.program import Program
from finch_core.runtime.storage import TensorStorage


def out_of_memory(
    program: Program,
    outputs: Iterable[tuple[str, object]],
    locals_: Iterable[TensorStorage],
    otherwise: OutOfMemory,
) -> OutOfMemory:
    """The error of a call that ended for lack of memory: it names the output or the workspace that
    takes the most, if one has less memory than its shape asks for, and is ``otherwise`` else."""
    tensors = [(name, value, program.spans.get(name)) for name, value in outputs]
    records = zip(local_records(program), locals_, strict=False)
    tensors += [(local.name, tensor, local.span) for local, tensor in records]
    found: list[tuple[int, str, TensorStorage, Span | None]] = []
    for name, tensor, span in tensors:
        if isinstance(tensor, TensorStorage) and tensor.arrays and (size := _lacking(tensor)):
            found.append((size, name, tensor, span))
    if not found:
        return otherwise
    size, name, tensor, span = max(found, key=lambda each: each[0])
    words = f"memory ran out for {name}, of shape {tensor.shape}"
    if len(tensor.layout.buffers) == 1:
        words += f": {size:,} bytes of {tensor.dtype}"
    return OutOfMemory(words, span=span, hint=otherwise.hint)


def _lacking(tensor: TensorStorage) -> int:
    """The bytes that the first level with buffers needs at least; 0 if it has so many."""
    levels = tensor.format.levels()
    first = next((k for k, level in enumerate(levels) if level.fields or level.is_leaf), 0)
    positions = math.prod(tensor.shape[:first])
    for part in tensor.layout.buffers:
        held = int(tensor.record[part.offset + 1])
        if part.level == first and not part.field.scratch and held < positions:
            return positions * part.field.dtype.itemsize
    return 0


__all__ = ["out_of_memory"]
