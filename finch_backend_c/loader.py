"""Compiled libraries as callables, through cffi's own parser of C types.

``_cffi_backend.FFI`` reads a signature in microseconds; ``cffi.FFI().cdef`` would import a whole
parser of C first. Calls release the GIL.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, TypeVar

import _cffi_backend as cffi

from finch_backend_c.toolchain import places, scratch
from finch_core.locks import imported
from finch_core.records import define

SYMBOL = "finch_kernel"
"""The name of the function that a library exports."""

T = TypeVar("T")

PARAMETER = {
    "r": "uintptr_t",
    "f": "double",
    "c": "double, double",
    "i": "int64_t",
    "u": "uint64_t",
}
"""The C type of a parameter, by its letter in a signature (``entry.signature``)."""


@cache
def ffi() -> Any:
    """The parser of C types."""
    return cffi.FFI()


def _none() -> None:
    return None


@define(eq=False)
class CKernel:
    """A compiled kernel.

    ``function`` is the C function, which takes the address of the control block, those of the
    records, and scalars. Calling it directly is fastest, but it is valid only while this object
    lives: the library is then closed.
    """

    function: Any
    source: str
    is_draft: bool = False
    notes: str = ""
    _library: Any = None
    _signature: str = ""
    optimised: Callable[[], Any] = _none
    """Begins to compile the kernel of a draft (see ``interface.abi``)."""
    is_simpler: bool = False
    """Whether the kernel of a draft has other C."""

    def __call__(self, control: int, *args: Any) -> int:
        return int(self.function(control, *args))

    def adopt(self, address: int, nbytes: int) -> Any:
        """A writable buffer over ``nbytes`` at an address that the kernel allocated; the memory is
        freed with the last view of it."""
        owner = ffi().gc(ffi().cast("char *", address), _free(), nbytes)
        return ffi().buffer(owner, nbytes)

    def bound(self, args: Sequence[Any], places: Sequence[int]) -> Callable[[], int]:
        """This kernel bound to its arguments (see ``interface.abi``)."""
        call = imported("finch_backend_c.bound").bound(self.function, self._signature, args, places)
        call.kernel = self  # the library is closed with it
        run: Callable[[], int] = call
        return run

    def inline_cache(self, cache: Any) -> Callable[[Any], Any] | None:
        """The function that calls this kernel through an inline cache (see
        ``interface.inline_cache``); None where there is none, or none yet."""
        found: Callable[[Any], Any] | None = imported("finch_backend_c.inline_cache").caller(
            self, self._signature, cache
        )
        return found

    def guard(self) -> int:
        """The guard for control blocks of this thread (see ``interface.abi``)."""
        return int(imported("finch_backend_c.interrupts").guard())

    def pool(self) -> int:
        """The threads for parallel loops (see ``interface.abi``); 0 if the kernel has none, and for
        a draft, whose loops are not worth the time of compiling the threads."""
        if self.is_draft or not is_parallel(self.source):
            return 0
        return int(imported("finch_backend_c.threads").pool())

    def interruption(self) -> BaseException:
        """The exception that ended a call with the status ``INTERRUPTED``."""
        ended: BaseException = imported("finch_backend_c.interrupts").interruption()
        return ended


def is_parallel(source: str) -> bool:
    """Whether a kernel of this text has loops of several threads."""
    return "parallel_run(" in source


@cache
def _free() -> Any:
    """The C library's ``free``, the counterpart of the ``malloc`` that kernels call."""
    library = cffi.load_library(None, 0)
    return library.load_function(ffi().typeof("void(*)(void *)"), "free")


def open_library(path: str) -> Any:
    """Open a library; it is closed when the returned object is no longer referenced.

    Raises ``OSError`` for a file that is not a library.
    """
    return cffi.load_library(path, cffi.RTLD_NOW)


def load(
    path: str, source: str, signature: str, is_draft: bool = False, notes: str = ""
) -> CKernel:
    """Load a kernel's library; ``signature`` has a letter for each parameter (``entry.signature``).

    Raises ``OSError`` or ``AttributeError`` for a file that is not a kernel.
    """
    params = ", ".join(["uintptr_t", *(PARAMETER[letter] for letter in signature)])
    type = ffi().typeof(f"int64_t(*)({params})")
    library = open_library(path)
    return CKernel(library.load_function(type, SYMBOL), source, is_draft, notes, library, signature)


def in_place(path: str, use: Callable[[str], T]) -> T:
    """Call ``use`` with the path of a library on disk; with that of a copy (``aside``) where its
    file system does not permit execution."""
    try:
        return use(path)
    except OSError:
        with open(path, "rb") as file:
            return aside(file.read(), use)


def aside(library: bytes, use: Callable[[str], T]) -> T:
    """Call ``use`` with the path of a temporary file that contains ``library``.

    Some file systems do not permit execution: tries folders until ``use`` raises no ``OSError``.
    Raises the first error if all fail.
    """
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
    yield places()[0]
    yield from (place for place in ("/dev/shm", "/var/tmp") if os.path.isdir(place))
