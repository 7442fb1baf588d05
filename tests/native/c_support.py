"""Records made of NumPy arrays, and kernels run on them, for the tests of the C backend."""

import attrs
import numpy as np

from finch_backend_c.cbackend import CBackend
from finch_backend_c.entry import WORK
from finch_core.errors import OutOfMemory
from finch_core.interface.abi import CONTROL_WORDS, GUARD, POOL, words
from finch_core.ir import assembly as asm
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Buffer, Var

QUICK = CBackend(flags=("-O1",))
MEMORY_SITE = asm.Site(OutOfMemory, "out of memory")


@attrs.define
class Record:
    """The record of one tensor under construction: ``buffer`` and ``scalar`` add slots."""

    name: str
    words: list[int] = attrs.field(factory=list)
    slots: list[asm.Slot] = attrs.field(factory=list)
    kept: list[np.ndarray] = attrs.field(factory=list)
    block: np.ndarray | None = None

    def buffer(self, name, array, *, written=False):
        target = Buffer(name, array.dtype, written)
        self.slots.append(asm.Slot(target, len(self.words), written))
        self.words += [array.ctypes.data, array.size]
        self.kept.append(array)
        return target

    def scalar(self, name, value, *, written=False):
        target = Var(name, value.dtype)
        self.slots.append(asm.Slot(target, len(self.words), written))
        padded = value.tobytes().ljust(8 * words(value.dtype), b"\xa5")
        self.words += np.frombuffer(padded, np.uint64).tolist()
        return target

    def declaration(self):
        return asm.Record(self.name, tuple(self.slots))

    def address(self):
        if self.block is None:
            self.block = np.array(self.words, dtype=np.uint64)
        return self.block.ctypes.data

    def read(self, target):
        """The scalar that a slot holds now."""
        slot = next(s for s in self.slots if s.target == target)
        return np.frombuffer(self.block[slot.offset :].tobytes(), target.type, 1)[0]


def kernel_of(records, statements, *, functions=(), arguments=(), sites=(MEMORY_SITE,)):
    params = (*(r.declaration() for r in records), *(asm.Argument(v) for v in arguments))
    block = asm.Block(tuple(statements))
    return asm.Kernel("k", params, tuple(functions), block, tuple(sites))


def call(compiled, records, *scalars):
    """The status and the control block of a run."""
    control = np.full(CONTROL_WORDS, 99, dtype=np.int64)
    control[GUARD] = control[POOL] = 0
    addresses = [r.address() for r in records]
    return compiled(control.ctypes.data, *addresses, *scalars), control


def run(records, statements, *, backend=QUICK, scalars=(), **parts):
    kernel = kernel_of(records, statements, **parts)
    return call(backend.compile(kernel), records, *scalars)


def intp(*values):
    return np.array(values, dtype=np.intp)


def var(name, dtype=INTP):
    return Var(name, np.dtype(dtype))


def body_of(source):
    """The lines of a kernel between prologue and the end, without indentation."""
    lines = source[source.index(WORK if WORK in source else "int64_t finch_kernel(") :].splitlines()
    return [line.strip() for line in lines[lines.index("{") + 1 : lines.index("}")]]
