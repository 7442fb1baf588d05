"""The reference interpreter: the definition of what assembly means, and a backend like any other.

It checks what compiled code takes for granted: that assembly is legal and that every access lies
within its buffer. It runs through the same records as compiled kernels do (see ``abi``).
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np

from finch_core.interface.abi import CONTROL_WORDS, FAILED, MOVED, words
from finch_core.ir.assembly import Argument, Kernel, Record, Slot
from finch_core.ir.depth import is_deep, on_a_thread
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Buffer, Var
from finch_core.ir.verify import check
from finch_core.locks import Lock
from finch_core.records import define, frozen
from finch_core.reference.closures import (
    Code,
    Failure,
    Frame,
    Memory,
    Routine,
    Scope,
    block_code,
    plain,
    routine,
)

Array = np.ndarray[Any, Any]


def backend() -> Interpreter:
    """The entry point: the interpreter as a backend."""
    return Interpreter()


@frozen
class Interpreter:
    """The backend ``interpreter``.

    ``fail_alloc`` lets the allocation of that number in each call fail (from 0), for tests.
    """

    fail_alloc: int | None = None
    checks_looplets: ClassVar[bool] = True
    name: str = attrs.field(default="interpreter", init=False)

    def available(self) -> str:
        """An empty string: it runs everywhere."""
        return ""

    def compile(self, kernel: Kernel, *, key: str = "") -> InterpretedKernel:
        """Prepare ``kernel``. Raises ``AssertionError`` where its assembly is illegal."""
        check(kernel)
        functions: dict[str, Routine] = {}
        for function in kernel.functions:
            functions[function.name] = routine(function, functions)
        scope = Scope(functions)
        for target in _targets(kernel):
            scope.place(target)
        body = block_code(kernel.body, scope)
        return InterpretedKernel(kernel, scope, body, self.fail_alloc, kernel.as_text())

    def load(self, key: str, params: int) -> None:
        """Nothing: preparing is quick."""


def _targets(kernel: Kernel) -> Iterator[Var | Buffer]:
    """What the parameters are put into, whether the body uses it or not."""
    for param in kernel.params:
        if isinstance(param, Argument):
            yield param.var
        else:
            yield from (slot.target for slot in param.slots)


# -- memory that others own -----------------------------------------------------------------


def array_at(address: int, count: int, dtype: np.dtype[Any]) -> Array:
    """``count`` elements at ``address``, in place."""
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
    """Store back what a slot holds; gives the new address of a buffer that moved, else 0."""
    if isinstance(slot.target, Var):
        _place(slot, record, concrete(slot.target.dtype))[0] = value
        return 0
    address = value.ctypes.data if len(value) else 0
    if len(value) == int(record[slot.offset + 1]):
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
    _scope: Scope
    _body: Code
    _fail_alloc: int | None
    source: str
    _kept: dict[int, dict[int, Array]] = attrs.field(factory=dict, init=False)
    _lock: Lock = attrs.field(factory=Lock, init=False)
    _deep: bool = attrs.field(factory=is_deep, init=False)

    def __call__(self, control: int, *args: Any) -> int:
        """Run it, as ``abi`` says. Raises ``AssemblyFault`` for an access out of bounds."""
        if self._deep and not is_deep():
            return on_a_thread(lambda: self._run(control, args))
        return self._run(control, args)

    def _run(self, control: int, args: tuple[Any, ...]) -> int:
        frame = self._scope.frame(Memory(self._fail_alloc))
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
        """Put arguments and slots into ``frame``; gives each slot with its record."""
        bound: list[tuple[Slot, Array]] = []
        rest = iter(args)
        for param in self._kernel.params:
            if isinstance(param, Argument):
                frame[self._scope.place(param.var)] = _argument(param.var, rest)
            else:
                record = _record(param, int(next(rest)))
                bound += ((slot, record) for slot in param.slots)
        for slot, record in bound:
            frame[self._scope.place(slot.target)] = _read(slot, record)
        return bound

    def _write_back(self, frame: Frame, bound: list[tuple[Slot, Array]]) -> bool:
        """Store back what the kernel may have changed; whether a buffer moved."""
        kept: dict[int, Array] = {}
        for slot, record in bound:
            if slot.written:
                value = frame[self._scope.place(slot.target)]
                address = _write(slot, record, value)
                if address:
                    kept[address] = value
        with self._lock:
            self._kept[threading.get_ident()] = kept
        return bool(kept)

    def adopt(self, address: int, nbytes: int) -> memoryview:
        """The memory at ``address``, which lives as long as what this returns."""
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
    """Fill in the control block and give the status of a kernel that failed."""
    block = array_at(control, CONTROL_WORDS, np.dtype(np.int64))
    block[: len(failure.values)] = failure.values
    block[3] = moved
    return FAILED + failure.site
