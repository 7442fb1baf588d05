"""Compiled libraries as callables, through cffi's own parser of C types.

``_cffi_backend.FFI`` reads a signature in microseconds; ``cffi.FFI().cdef`` would import a whole
parser of C first. Calls release the GIL.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import _cffi_backend as cffi

from finch_core.records import define

SYMBOL = "finch_kernel"
"""What a library exports."""


_PARAMETER = {
    "r": "uintptr_t",
    "f": "double",
    "c": "double, double",
    "i": "int64_t",
    "u": "uint64_t",
}


@cache
def _ffi() -> Any:
    return cffi.FFI()


@define(eq=False)
class CKernel:
    """A compiled kernel.

    ``function`` is the bare C function, which takes the address of the control block, those of
    the records, and scalars: the cheapest way to call it. The library stays loaded for the life
    of the process.
    """

    function: Any
    source: str
    is_draft: bool = False

    def __call__(self, control: int, *args: Any) -> int:
        return int(self.function(control, *args))

    def adopt(self, address: int, nbytes: int) -> Any:
        """A writable buffer over ``nbytes`` at an address that the kernel allocated; the memory is
        freed with the last view of it."""
        ffi = _ffi()
        owner = ffi.gc(ffi.cast("char *", address), _free(), nbytes)
        return ffi.buffer(owner, nbytes)


@cache
def _free() -> Any:
    """The C library's ``free``, the counterpart of the ``malloc`` that kernels call."""
    library = cffi.load_library(None, 0)
    return library.load_function(_ffi().typeof("void(*)(void *)"), "free")


def load(path: str, source: str, signature: str, is_draft: bool = False) -> CKernel:
    """Load a library; ``signature`` holds a letter a parameter (see ``entry.signature``).

    Raises ``OSError`` or ``AttributeError`` for a file that is no kernel.
    """
    params = ", ".join(["uintptr_t", *(_PARAMETER[letter] for letter in signature)])
    type = _ffi().typeof(f"int64_t(*)({params})")
    # the function does not hold its library, hence NODELETE
    library = cffi.load_library(path, cffi.RTLD_NOW | cffi.RTLD_NODELETE)
    return CKernel(library.load_function(type, SYMBOL), source, is_draft)
