"""Runs a piece of assembly on NumPy arrays, on any backend, for tests of passes over assembly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from finch_core.errors import OutOfBounds, OutOfMemory
from finch_core.interface.abi import CONTROL_WORDS, FAILED, Backend, CompiledKernel, words
from finch_core.ir.assembly import Block, Function, Kernel, Record, Site, Slot
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Buffer, Var
from finch_core.ir.verify import check
from finch_core.reference.interpreter import Interpreter

Array = np.ndarray[Any, Any]
Values = Mapping[Var | Buffer, Any]
SITES = (Site(OutOfMemory, "out of memory"), Site(OutOfBounds, "{0}"))


def kernel_of(block: Block, targets: Values, functions: tuple[Function, ...] = ()) -> Kernel:
    """A kernel that runs typed ``block``, with ``targets`` in one record, all marked as written."""
    slots, offset = [], 0
    for target in targets:
        slots.append(Slot(target, offset, written=True))
        offset += 2 if isinstance(target, Buffer) else words(concrete(target.dtype))
    return Kernel("block", (Record("data", tuple(slots)),), functions, block, SITES)


def run_block(
    block: Block,
    values: Values,
    functions: tuple[Function, ...] = (),
    backend: Backend | None = None,
) -> tuple[int, dict[str, Any]]:
    """Run typed ``block`` on copies of ``values``: an array for each buffer, a number for each
    variable. Returns the kernel's status (see ``interface.abi``) and the new values by name.
    Raises ``IllegalAssembly`` for a block that is not legal.
    """
    kernel = kernel_of(block, values, functions)
    check(kernel)
    compiled = (backend or Interpreter()).compile(kernel)
    record, keep = _record(kernel, values)
    control = np.zeros(CONTROL_WORDS, np.int64)
    status = compiled(control.ctypes.data, record.ctypes.data)
    after = {slot.target.name: _after(slot, record, compiled, keep) for slot in _slots(kernel)}
    if status >= FAILED:
        after["control"] = control.tolist()
    return status, after


def _slots(kernel: Kernel) -> tuple[Slot, ...]:
    (record,) = kernel.params
    assert isinstance(record, Record)
    return record.slots


def _record(kernel: Kernel, values: Values) -> tuple[Array, dict[str, Array]]:
    """The words of the record, and the arrays whose addresses it holds."""
    slots = _slots(kernel)
    size = max((s.offset + 2 for s in slots), default=0)
    record, keep = np.zeros(size, np.uint64), {}
    for slot in slots:
        value = np.array(values[slot.target], concrete(slot.target.dtype))
        if isinstance(slot.target, Buffer):
            keep[slot.target.name] = value
            record[slot.offset : slot.offset + 2] = value.ctypes.data, len(value)
        else:
            _scalar(slot, record)[0] = value
    return record, keep


def _scalar(slot: Slot, record: Array) -> Array:
    dtype = concrete(slot.target.dtype)
    return record[slot.offset :].view(np.uint8)[: dtype.itemsize].view(dtype)


def _after(slot: Slot, record: Array, compiled: CompiledKernel, keep: dict[str, Array]) -> Any:
    if isinstance(slot.target, Var):
        return _scalar(slot, record)[0]
    address, count = map(int, record[slot.offset : slot.offset + 2])
    array, dtype = keep[slot.target.name], slot.target.dtype
    if address == array.ctypes.data or count == 0:
        return array
    return np.frombuffer(compiled.adopt(address, count * dtype.itemsize), dtype)
