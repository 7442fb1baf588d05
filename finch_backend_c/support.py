"""Small libraries beside the kernels, compiled once and kept in the disk cache."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from finch_backend_c import cache, loader, toolchain
from finch_core.errors import BackendError
from finch_core.locks import Lock, imported

T = TypeVar("T")
_FLAGS = ("-O1", "-std=gnu11", "-fPIC", "-shared")
OWN = (*_FLAGS, toolchain.OWN_LIBRARIES)
"""Flags for code that calls nothing but what every process has: linked in half the time."""
QUICK = (*OWN, "-O0")
"""Flags for code that hardly runs, and calls what every process has: compiled in half the time."""

_FAILURES = (BackendError, OSError, AttributeError, NotImplementedError)


def library(name: str, text: str, use: Callable[[str], T], flags: tuple[str, ...] = _FLAGS) -> T:
    """What ``use`` makes of the path of a library of this C ``text``; ``name`` says what it is for.
    A compiler that does not take the ``flags`` is given the usual ones.

    Raises ``BackendError`` if the compiler fails, and ``OSError`` if the library cannot be opened.
    """
    entry, made = _compiled(name, text, flags)
    if made is not None:
        return loader.aside(made, use)
    kept = cache.load(entry)
    if kept is None:  # it was removed in the meantime
        raise OSError(f"the library for {name} has left the cache")
    return loader.in_place(kept.library, use)


def _entry(name: str, text: str, flags: tuple[str, ...], compiler: toolchain.Compiler) -> str:
    """The name in the cache of a library."""
    return cache.name(name, compiler.identity, text, *flags)


def _compiled(name: str, text: str, flags: tuple[str, ...]) -> tuple[str, bytes | None]:
    """The name in the cache of a library, which is compiled if the cache has it not; and the
    library itself, if the cache does not keep it."""
    compiler = toolchain.find()
    entry = _entry(name, text, flags, compiler)
    if cache.load(entry) is None:
        with cache.compiling(entry):
            if cache.load(entry) is None:  # no other process was first
                outcome = toolchain.run(compiler, flags, text)
                if outcome.library is None and flags != _FLAGS:
                    outcome = toolchain.run(compiler, _FLAGS, text)
                if outcome.library is None:
                    raise toolchain.refused(compiler, _FLAGS, outcome.said)
                if cache.store(entry, outcome.library, text, "") is None:
                    return entry, outcome.library
    return entry, None


class Shared(Generic[T]):
    """What the kernels of a process share: made of a library of this C text at the first use."""

    def __init__(
        self, name: str, text: str, use: Callable[[str], T], flags: tuple[str, ...] = _FLAGS
    ) -> None:
        self._name, self._text, self._use, self._flags = name, text, use, flags
        self._lock = Lock()
        self._compiling: threading.Thread | None = None
        self.made: T | None = None

    def begin(self) -> None:
        """Start to compile the library if the cache has it not, in a thread beside what this one
        goes on with. ``get`` waits for it."""
        with self._lock:
            if self.made is None and self._compiling is None and cache.directory() is not None:
                for needed in ("subprocess", "finch_backend_c.helpers"):
                    imported(needed)  # all that the thread imports
                compiling = threading.Thread(target=self._compile)
                compiling.start()
                self._compiling = compiling  # a thread that an interrupt kept from starting is none

    def is_ready(self) -> bool:
        """Whether ``get`` has nothing to compile; begins to compile the library if it has."""
        if self.made is not None:
            return True
        if self._compiling is None and self._is_kept():
            return True
        self.begin()
        compiling = self._compiling
        return compiling is None or not compiling.is_alive()

    def _is_kept(self) -> bool:
        with suppress(*_FAILURES):
            entry = _entry(self._name, self._text, self._flags, toolchain.find())
            return cache.load(entry) is not None
        return False

    def _compile(self) -> None:
        with suppress(*_FAILURES):  # `get` tries once more
            _compiled(self._name, self._text, self._flags)

    def get(self) -> T | None:
        """What is shared; None on systems where the library cannot be made."""
        if self.made is not None:  # no lock, which an interrupt may leave held
            return self.made
        with self._lock:
            if self.made is None:
                if self._compiling is not None:
                    self._compiling.join()
                try:
                    self.made = library(self._name, self._text, self._use, self._flags)
                except _FAILURES:
                    return None
            return self.made
