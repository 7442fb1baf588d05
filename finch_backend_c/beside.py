"""Kernels that are compiled beside the process that will call them.

A draft runs meanwhile. The compiler is a process of its own, and no thread waits for it: whoever
calls the draft asks whether it has ended. What it made is put into the cache, where the backend
finds it. At the end of Python the compilers that are at work are waited for, so that the next
process finds what they make (``docs/decisions/281-compilers-beside-drafts.md``).
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from contextlib import suppress

from finch_backend_c import toolchain
from finch_core.locks import Lock, on_fork

Keep = Callable[[bytes], object]


class Beside:
    """A kernel that is compiled beside its caller: from now on, or from when fewer than ``MOST``
    others are. ``keep`` is called with the library."""

    def __init__(
        self, compiler: toolchain.Compiler, flags: tuple[str, ...], source: str, keep: Keep
    ) -> None:
        self._task, self._keep = (compiler, flags, source), keep
        self._running: toolchain.Running | None = None
        self._is_done = False
        with _lock:
            self._start()

    def has_ended(self) -> bool:
        """Whether there is nothing to wait for: what the compiler made is in the cache, or it has
        failed."""
        with _lock:
            for other in [work for work in _at_work if work._running and work._running.has_ended()]:
                other._end()
            if self._running is None:
                self._start()
            return self._is_done

    def wait(self) -> None:
        """Wait for the compiler. Where it was not started yet, nothing will be made."""
        with _lock:
            self._end()

    def _start(self) -> None:
        if self._is_done or len(_at_work) >= MOST:
            return
        try:
            self._running = toolchain.Running(*self._task)
        except OSError:
            self._is_done = True
        else:
            _at_work.append(self)

    def _end(self) -> None:
        if self._is_done:
            return
        self._is_done = True
        if self in _at_work:
            _at_work.remove(self)
        if self._running is not None:
            with suppress(OSError):
                library = self._running.outcome().library
                if library is not None:
                    self._keep(library)

    def forget(self) -> None:
        """In a child process, which cannot wait for a process of its parent's."""
        if self._running is not None:
            self._running.forget()
        self._running, self._is_done = None, True


MOST = max(1, (os.cpu_count() or 2) - 1)
"""As many compilers are at work at once: one processor is left for the process itself."""
_lock = Lock()
_at_work: list[Beside] = []


@on_fork
def _forget() -> None:
    while _at_work:
        _at_work.pop().forget()


@atexit.register
def _wait() -> None:
    """Wait for the compilers; an exception of a signal's handler stops them."""
    for work in list(_at_work):
        work.wait()
