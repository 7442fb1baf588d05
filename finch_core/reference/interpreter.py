"""The reference interpreter, a backend that defines the meaning of assembly.

It checks what compiled code assumes: that the assembly is legal and every access lies within its
buffer. It is called through the same records as compiled kernels are (see ``interface.abi``).
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from finch_core.interface.abi import CONTROL_WORDS, FAILED, MOVED, words
from finch_core.ir.assembly import Argument, Kernel, Record, Slot
from finch_core.ir.common_subexpressions import bind_common_subexpressions
from finch_core.ir.depth import is_deep, on_a_thread
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Buffer, Var
from finch_core.ir.verify import check
from finch_core.locks import Lock
from finch_core.records import define, field, frozen
from finch_core.reference.closures import (
    Code,
    Failure,
    Frame,
    FrameLayout,
    Memory,
    Routine,
    plain,
)
from finch_core.reference.statement_closures import block_code, routine

Array = np.ndarray[Any, Any]


def backend() -> Interpreter:
    """The entry point of the backend."""
    return Interpreter()


@frozen
class Interpreter:
    """The backend ``interpreter``.

    ``fail_alloc``: the number (from 0) of the allocation that fails in each call, for tests.
    """

    fail_alloc: int | None = None
    name: str = field(default="interpreter", init=False)

    def available(self) -> str:
        """An empty string: the interpreter is always available."""
        return ""

    def compile(self, kernel: Kernel, *, key: str = "") -> InterpretedKernel:
        """Translate ``kernel`` into closures. Raises ``AssertionError`` if its assembly is
        illegal."""
        kernel = bind_common_subexpressions(kernel)
        check(kernel)
        functions: dict[str, Routine] = {}
        for function in kernel.functions:
            functions[function.name] = routine(function, functions)
        frames = FrameLayout(functions)
        for target in _targets(kernel):
            frames.place(target)
        body = block_code(kernel.body, frames)
        return InterpretedKernel(kernel, frames, body, self.fail_alloc, kernel.as_text())

    def load(self, key: str, params: int) -> None:
        """None: the interpreter keeps nothing on disk."""


def _targets(kernel: Kernel) -> Iterator[Var | Buffer]:
    """The variables and buffers that the parameters define, used by the body or not."""
    for param in kernel.params:
        if isinstance(param, Argument):
            yield param.var
        else:
            yield from (slot.target for slot in param.slots)


# -- memory owned by the caller ---------------------------------------------------------------


def array_at(address: int, count: int, dtype: np.dtype[Any]) -> Array:
    """A view of ``count`` elements of ``dtype`` at ``address``."""
    if count == 0:
        return np.empty(0, dtype)
    room: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    array: Array = np.frombuffer(room, dtype)
    return array


def _read(slot: Slot, record: Array) -> Any:
    dtype = concrete(slot.target.dtype)
    if isinstance(slot.target, Buffer):
        address, count = record[slot.offset : slot.offset + 2]
        return array_at(int(address), int(count), dtype)
    return plain(_place(slot, record, dtype)[0].copy(), dtype)


def _place(slot: Slot, record: Array, dtype: np.dtype[Any]) -> Array:
    """The bytes of a scalar in its record, as one element of its dtype."""
    part = record[slot.offset : slot.offset + words(dtype)]
    return part.view(np.uint8)[: dtype.itemsize].view(dtype)


def _write(slot: Slot, record: Array, value: Any) -> int:
    """Write a slot back to its record; returns the address of a buffer that moved, else 0."""
    if isinstance(slot.target, Var):
        _place(slot, record, concrete(slot.target.dtype))[0] = value
        return 0
    address = value.ctypes.data if len(value) else 0
    if len(value) == int(record[slot.offset + 1]) and address in (0, int(record[slot.offset])):
        return 0
    record[slot.offset : slot.offset + 2] = address, len(value)
    return int(address)


# -- calls ----------------------------------------------------------------------------------


@define
class InterpretedKernel:
    """A kernel ready to run; ``source`` is the text of its assembly.

    Memory that a call allocated stays alive until it is adopted, or until the next call from the
    same thread.
    """

    _kernel: Kernel
    _frames: FrameLayout
    _body: Code
    _fail_alloc: int | None
    source: str
    _kept: dict[int, dict[int, Array]] = field(factory=dict, init=False)
    _lock: Lock = field(factory=Lock, init=False)
    _deep: bool = field(factory=is_deep, init=False)

    def __call__(self, control: int, *args: Any) -> int:
        """Run the kernel by the calling convention of ``interface.abi``; returns its status.
        Raises ``AssemblyFault`` for an access out of bounds."""
        if self._deep and not is_deep():
            return on_a_thread(lambda: self._run(control, args))
        return self._run(control, args)

    def _run(self, control: int, args: tuple[Any, ...]) -> int:
        frame = self._frames.frame(Memory(self._fail_alloc))
        bound = self._bind(frame, args)
        failure = None
        try:
            with np.errstate(all="ignore"):
                self._body(frame)
        except Failure as error:
            failure = error
        finally:
            moved = self._write_back(frame, bound)
        return MOVED * moved if failure is None else _report(control, failure, moved)

    def _bind(self, frame: Frame, args: tuple[Any, ...]) -> list[tuple[Slot, Array]]:
        """Store arguments and slots in ``frame``; returns each slot with its record."""
        bound: list[tuple[Slot, Array]] = []
        rest = iter(args)
        for param in self._kernel.params:
            if isinstance(param, Argument):
                frame[self._frames.place(param.var)] = _argument(param.var, rest)
            else:
                record = _record(param, int(next(rest)))
                bound += ((slot, record) for slot in param.slots)
        for slot, record in bound:
            frame[self._frames.place(slot.target)] = _read(slot, record)
        return bound

    def _write_back(self, frame: Frame, bound: list[tuple[Slot, Array]]) -> bool:
        """Write back the slots that the kernel may have changed; returns whether a buffer moved."""
        kept: dict[int, Array] = {}
        for slot, record in bound:
            if slot.written:
                value = frame[self._frames.place(slot.target)]
                address = _write(slot, record, value)
                if address:
                    kept[address] = value
        with self._lock:
            self._kept[threading.get_ident()] = kept
        return bool(kept)

    def adopt(self, address: int, nbytes: int) -> memoryview:
        """The memory that the kernel allocated at ``address``, ``nbytes`` long; the returned view
        keeps it alive. Raises ``KeyError`` for any other address."""
        with self._lock:
            for kept in self._kept.values():
                if address in kept:
                    return kept.pop(address).view(np.uint8)[:nbytes].data
        raise KeyError(f"this kernel allocated nothing at {address:#x}")


def _record(param: Record, address: int) -> Array:
    size = max((slot.offset + _size(slot) for slot in param.slots), default=0)
    return array_at(address, size, np.dtype(np.uint64))


def _size(slot: Slot) -> int:
    return 2 if isinstance(slot.target, Buffer) else words(concrete(slot.target.dtype))


def _argument(var: Var, rest: Any) -> Any:
    """The next scalar argument; a complex one comes as two floats."""
    dtype = concrete(var.dtype)
    value = complex(next(rest), next(rest)) if dtype.kind == "c" else next(rest)
    return plain(dtype.type(value), dtype)


def _report(control: int, failure: Failure, moved: bool) -> int:
    """Fill the control block; return the status of a kernel that failed."""
    block = array_at(control, CONTROL_WORDS, np.dtype(np.int64))
    block[: len(failure.values)] = failure.values
    block[3] = moved
    return FAILED + failure.site
