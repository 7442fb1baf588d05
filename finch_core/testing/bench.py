"""``Bench``: runs pieces of assembly with their data on a backend, for tests of backends."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.errors import OutOfBounds, OutOfMemory
from finch_core.interface.abi import CONTROL_WORDS, GUARD, POOL, Backend, CompiledKernel, words
from finch_core.ir.assembly import (
    Argument,
    Block,
    Function,
    Kernel,
    Record,
    Site,
    Slot,
    Statement,
)
from finch_core.ir.dtypes import INTP, concrete
from finch_core.ir.expressions import Buffer, Literal, Var
from finch_core.testing.arrays import Array
from finch_core.testing.isolation import read_only

SITES = (Site(OutOfMemory, "memory ran out"), Site(OutOfBounds, "{0} {1} {2}"))


def n(value: int) -> Literal:
    """An integer literal of assembly."""
    return Literal(value, INTP)


def block(*statements: Statement) -> Block:
    """Statements in order."""
    return Block(statements)


def var(name: str, dtype: Any = INTP) -> Var:
    """A variable; its default dtype is that of indices."""
    return Var(name, np.dtype(dtype))


class Bench:
    """A kernel with one record, and its data, on ``backend``.

    ``buffer`` and ``variable`` add buffers and variables to the record. ``run`` compiles a body and
    calls it. Afterwards ``arrays`` maps names of buffers to their contents, ``value(v)`` gives the
    value of a variable, and ``control`` is the control block.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.slots: list[Slot] = []
        self.arrays: dict[str, Array] = {}
        self.values: dict[Var, Any] = {}
        self.size = 0
        self.compiled: CompiledKernel
        self.control = np.zeros(CONTROL_WORDS, np.int64)
        self.record = np.zeros(1, np.uint64)
        self.is_read_only = False
        """Whether the record lies in memory to which nobody may write."""

    def buffer(self, name: str, array: Any, *, growable: bool = False) -> Buffer:
        """A buffer over the memory of ``array``; arrays may share memory."""
        array = np.ascontiguousarray(array)
        made = Buffer(name, array.dtype, growable)
        self.arrays[name] = array
        self._slot(made, 2, growable)
        return made

    def variable(self, name: str, value: Any, dtype: Any = INTP, *, written: bool = True) -> Var:
        """A scalar variable of the record."""
        made = var(name, dtype)
        self._slot(made, words(np.dtype(dtype)), written)
        self.values[made] = value
        return made

    def _slot(self, target: Var | Buffer, size: int, written: bool) -> None:
        self.slots.append(Slot(target, self.size, written))
        self.size += size

    def kernel(
        self, *body: Statement, functions: tuple[Function, ...] = (), arguments: Any = ()
    ) -> Kernel:
        """The kernel that runs ``body``; ``arguments`` are scalars passed after the record."""
        params: tuple[Any, ...] = (Record("data", tuple(self.slots)), *map(Argument, arguments))
        return Kernel("bench", params, functions, Block(body), SITES)

    def run(
        self, *body: Statement, functions: tuple[Function, ...] = (), arguments: Any = (),
        passed: Any = (),
    ) -> int:  # fmt: skip
        """Compile ``body``, call it with the words in ``passed``, and return the status."""
        self.compiled = self.backend.compile(
            self.kernel(*body, functions=functions, arguments=arguments)
        )
        return self.call(*passed)

    def call(self, *passed: Any) -> int:
        """Call the compiled kernel again, on the current ``arrays`` and ``values``."""
        self.record = np.zeros(max(self.size, 1), np.uint64)
        for slot in self.slots:
            if isinstance(slot.target, Buffer):
                array = self.arrays[slot.target.name]
                self.record[slot.offset : slot.offset + 2] = array.ctypes.data, len(array)
            else:
                self._place(slot)[0] = self.values[slot.target]
        if self.is_read_only:
            self.record = read_only(self.record)
        self.control = np.full(CONTROL_WORDS, -1, np.int64)
        self.control[GUARD], self.control[POOL] = 0, getattr(self.compiled, "pool", int)()
        status = self.compiled(self.control.ctypes.data, self.record.ctypes.data, *passed)
        self._collect()
        return status

    def _collect(self) -> None:
        """Take the buffers that the kernel exchanged, and adopt those that it reallocated."""
        known = {array.ctypes.data: array for array in self.arrays.values() if array.size}
        for slot in self.slots:
            if isinstance(slot.target, Buffer):
                address, count = map(int, self.record[slot.offset : slot.offset + 2])
                array = self.arrays[slot.target.name]
                if address != array.ctypes.data and address in known:
                    self.arrays[slot.target.name] = known[address]
                elif address != array.ctypes.data and count:
                    memory = self.compiled.adopt(address, count * array.itemsize)
                    self.arrays[slot.target.name] = np.frombuffer(memory, array.dtype)

    def _place(self, slot: Slot) -> Array:
        dtype = concrete(slot.target.dtype)
        found: Array = self.record[slot.offset :].view(np.uint8)[: dtype.itemsize].view(dtype)
        return found

    def value(self, target: Var) -> Any:
        """The current value of a variable of the record."""
        return next(self._place(s)[0] for s in self.slots if s.target == target)
