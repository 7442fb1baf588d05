"""Compiled libraries as callables, through cffi's own parser of C types.

``_cffi_backend.FFI`` reads a signature in microseconds; ``cffi.FFI().cdef`` would import a whole
parser of C first. Calls release the GIL.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

import _cffi_backend as cffi

from finch_core.records import define

SYMBOL = "finch_kernel"
"""What a library exports."""

T = TypeVar("T")

_PARAMETER = {
    "r": "uintptr_t",
    "f": "double",
    "c": "double, double",
    "i": "int64_t",
    "u": "uint64_t",
}


@cache
def ffi() -> Any:
    """The parser of C types."""
    return cffi.FFI()


@define(eq=False)
class CKernel:
    """A compiled kernel.

    ``function`` is the bare C function, which takes the address of the control block, those of
    the records, and scalars: the cheapest way to call it. It is there as long as the kernel is:
    the library is closed with it.
    """

    function: Any
    source: str
    is_draft: bool = False
    notes: str = ""
    _library: Any = None

    def __call__(self, control: int, *args: Any) -> int:
        return int(self.function(control, *args))

    def adopt(self, address: int, nbytes: int) -> Any:
        """A writable buffer over ``nbytes`` at an address that the kernel allocated; the memory is
        freed with the last view of it."""
        owner = ffi().gc(ffi().cast("char *", address), _free(), nbytes)
        return ffi().buffer(owner, nbytes)

    def guard(self) -> int:
        """What control blocks of this thread have as their guard (see ``abi``)."""
        from finch_backend_c import interrupts

        return interrupts.guard()

    def interruption(self) -> BaseException:
        """What ended a call whose status is ``INTERRUPTED``."""
        from finch_backend_c import interrupts

        return interrupts.interruption()


@cache
def _free() -> Any:
    """The C library's ``free``, the counterpart of the ``malloc`` that kernels call."""
    library = cffi.load_library(None, 0)
    return library.load_function(ffi().typeof("void(*)(void *)"), "free")


def open_library(path: str) -> Any:
    """The library of a file, which is closed when nothing refers to what this returns.

    Raises ``OSError`` for a file that is none.
    """
    return cffi.load_library(path, cffi.RTLD_NOW)


def load(
    path: str, source: str, signature: str, is_draft: bool = False, notes: str = ""
) -> CKernel:
    """Load a library; ``signature`` holds a letter a parameter (see ``entry.signature``).

    Raises ``OSError`` or ``AttributeError`` for a file that is no kernel.
    """
    params = ", ".join(["uintptr_t", *(_PARAMETER[letter] for letter in signature)])
    type = ffi().typeof(f"int64_t(*)({params})")
    library = open_library(path)
    return CKernel(library.load_function(type, SYMBOL), source, is_draft, notes, library)


def aside(library: bytes, use: Callable[[str], T]) -> T:
    """``use`` of the path of a new file with these contents, which does not outlive the call.

    Code cannot be run from every file system: the first folder is taken of which ``use`` raises no
    ``OSError``. Raises the first error where there is none.
    """
    from finch_backend_c.toolchain import scratch

    errors = []
    for place in _places():
        try:
            with scratch(place) as folder:
                path = os.path.join(folder, "kernel.so")
                with open(path, "wb") as file:
                    file.write(library)
                return use(path)
        except OSError as error:
            errors.append(error)
    raise errors[0]


def _places() -> Iterator[str]:
    import tempfile

    yield tempfile.gettempdir()
    yield from (place for place in ("/dev/shm", "/var/tmp") if os.path.isdir(place))
