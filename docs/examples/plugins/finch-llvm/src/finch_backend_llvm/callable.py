"""Compiled kernels in memory: how they are called, and how the memory they allocate is freed."""

from __future__ import annotations

from functools import cache
from typing import Any

import attrs
import cffi

ffi = cffi.FFI()


@cache
def _libc() -> Any:
    ffi.cdef("void free(void *);")
    return ffi.dlopen(None)


@attrs.frozen(eq=False)
class LlvmKernel:
    """A compiled kernel; ``function`` is its C function, which releases the GIL while it runs."""

    function: Any
    source: str
    _code: Any
    """Keeps the machine code in memory."""

    @classmethod
    def at(cls, address: int, prototype: str, source: str, code: Any) -> LlvmKernel:
        """The kernel whose function of type ``prototype`` is at ``address``."""
        return cls(ffi.cast(prototype, address), source, code)

    def __call__(self, control: int, *args: Any) -> int:
        """Run it, as ``abi`` says."""
        status: int = self.function(control, *args)
        return status

    def adopt(self, address: int, nbytes: int) -> Any:
        """The ``nbytes`` that a kernel has allocated at ``address``; freed with the last user."""
        memory = ffi.gc(ffi.cast("char *", address), _libc().free, nbytes)
        return ffi.buffer(memory, nbytes)
