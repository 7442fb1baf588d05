"""Small libraries beside the kernels, compiled once and kept in the disk cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from finch_backend_c import cache, loader, toolchain
from finch_core.errors import BackendError
from finch_core.locks import Lock

T = TypeVar("T")
_FLAGS = ("-O1", "-std=gnu11", "-fPIC", "-shared")
QUICK = (*_FLAGS, "-O0", toolchain.OWN_LIBRARIES)
"""Flags for code that hardly runs, and calls what every process has: compiled in half the time."""


def library(name: str, text: str, use: Callable[[str], T], flags: tuple[str, ...] = _FLAGS) -> T:
    """What ``use`` makes of the path of a library of this C ``text``; ``name`` says what it is for.
    A compiler that does not take the ``flags`` is given the usual ones.

    Raises ``BackendError`` if the compiler fails, and ``OSError`` if the library cannot be opened.
    """
    compiler = toolchain.find()
    entry = cache.name(name, compiler.identity, text, *flags)
    if cache.load(entry) is None:
        with cache.compiling(entry):
            if cache.load(entry) is None:  # no other process was first
                outcome = toolchain.run(compiler, flags, text)
                if outcome.library is None and flags != _FLAGS:
                    outcome = toolchain.run(compiler, _FLAGS, text)
                if outcome.library is None:
                    raise toolchain.refused(compiler, _FLAGS, outcome.said)
                if cache.store(entry, outcome.library, text, "") is None:
                    return loader.aside(outcome.library, use)
    kept = cache.load(entry)
    if kept is None:  # it was removed in the meantime
        raise OSError(f"the library for {name} has left the cache")
    return loader.in_place(kept.library, use)


class Shared(Generic[T]):
    """What the kernels of a process share: made of a library of this C text at the first use."""

    def __init__(
        self, name: str, text: str, use: Callable[[str], T], flags: tuple[str, ...] = _FLAGS
    ) -> None:
        self._parts = name, text, use, flags
        self._lock = Lock()
        self.made: T | None = None

    def get(self) -> T | None:
        """What is shared; None on systems where the library cannot be made."""
        with self._lock:
            if self.made is None:
                try:
                    self.made = library(*self._parts)
                except (BackendError, OSError, AttributeError, NotImplementedError):
                    return None
            return self.made
