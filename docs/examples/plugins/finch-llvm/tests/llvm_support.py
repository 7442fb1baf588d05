"""Running pieces of assembly through the backend, on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from finch_backend_llvm.compiler import LlvmBackend

from finch_core.abi import CONTROL_WORDS, words
from finch_core.assembly import Argument, Block, Function, Kernel, Record, Site, Slot, Statement
from finch_core.dtypes import concrete
from finch_core.errors import OutOfBounds, OutOfMemory
from finch_core.expressions import Buffer, Var

INT = np.dtype(np.int64)
SITES = (Site(OutOfMemory, "memory"), Site(OutOfBounds, "{0} {1} {2}"))


class Bench:
    """A kernel of one record, with its data: arrays for buffers and values for variables."""

    def __init__(self, **options: Any) -> None:
        self.backend = LlvmBackend(**options)
        self.slots: list[Slot] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.values: list[tuple[Slot, Any]] = []
        self.size = 0

    def buffer(self, name: str, array: Any, growable: bool = False) -> Buffer:
        array = np.ascontiguousarray(array)
        made = Buffer(name, array.dtype, growable)
        self.arrays[name] = array
        self._slot(made, 2, growable)
        return made

    def variable(self, name: str, dtype: Any, value: Any, written: bool = True) -> Var:
        made = Var(name, np.dtype(dtype))
        self._slot(made, words(np.dtype(dtype)), written)
        self.values.append((self.slots[-1], value))
        return made

    def _slot(self, target: Any, size: int, written: bool) -> None:
        self.slots.append(Slot(target, self.size, written))
        self.size += size

    def kernel(
        self, *body: Statement, functions: tuple[Function, ...] = (), arguments=()
    ) -> Kernel:
        params = (Record("data", tuple(self.slots)), *map(Argument, arguments))
        return Kernel("bench", params, functions, Block(body), SITES)

    def run(self, *body: Statement, functions: tuple[Function, ...] = (), **scalars: Any) -> int:
        """Compile and run; afterwards ``arrays`` has what the buffers hold, ``control`` and
        ``record`` the blocks of the call."""
        arguments = tuple(scalars.pop("arguments", ()))
        kernel = self.kernel(*body, functions=functions, arguments=arguments)
        self.compiled = self.backend.compile(kernel)
        return self.call(*scalars.pop("passed", ()))

    def call(self, *passed: Any) -> int:
        self.record = np.zeros(max(self.size, 1), np.uint64)
        for slot in self.slots:
            if isinstance(slot.target, Buffer):
                array = self.arrays[slot.target.name]
                self.record[slot.offset : slot.offset + 2] = array.ctypes.data, len(array)
        for slot, value in self.values:
            self._place(slot)[0] = value
        self.control = np.full(CONTROL_WORDS, -1, np.int64)
        status = self.compiled(self.control.ctypes.data, self.record.ctypes.data, *passed)
        self._collect()
        return status

    def _collect(self) -> None:
        for slot in self.slots:
            if isinstance(slot.target, Buffer):
                address, count = map(int, self.record[slot.offset : slot.offset + 2])
                array = self.arrays[slot.target.name]
                if address != array.ctypes.data:
                    memory = self.compiled.adopt(address, count * array.itemsize)
                    self.arrays[slot.target.name] = np.frombuffer(memory, array.dtype)

    def _place(self, slot: Slot) -> np.ndarray:
        dtype = concrete(slot.target.dtype)
        return self.record[slot.offset :].view(np.uint8)[: dtype.itemsize].view(dtype)

    def value(self, var: Var) -> Any:
        """What a variable of the record holds."""
        return next(self._place(s)[0] for s in self.slots if s.target == var)
