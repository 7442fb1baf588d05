"""How a compiled kernel is called: the contract between tensors, kernels and backends.

A tensor's *record* is a block of 8-byte words (a NumPy ``uint64`` array): its dimensions, then the
persistent scalars of its levels, then two words a buffer, its address and its capacity in elements.
Offsets are in words. A kernel is a C function

    int64_t kernel(int64_t *control, P0 p0, P1 p1, ...)

with one parameter per ``Kernel.params`` in order: a record's address (``uint64_t *``) or a scalar
by value: ``double`` for floats of any width, ``int64_t`` for bools and signed, ``uint64_t`` for
unsigned integers, two ``double`` (real, imaginary) for complex.

It returns 0 if all went well and no buffer moved, 1 if all went well and some buffer of a record
was reallocated (its words then hold the new address and capacity), and ``2 + site`` if it failed at
``site``; ``control[0:3]`` then hold the values of ``Fail`` and ``control[3]`` is 1 if a buffer
moved. It returns -1 if a handler of a signal ended it; records then have the buffers there are.
``control[4]`` is what ``guard()`` of the compiled kernel gives, if it has that, else 0.
Memory that a kernel allocates is given out by the backend's allocator and freed by it, through
the compiled kernel's ``adopt``. A kernel never frees or reallocates memory that it did not
allocate during the same call.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, Protocol

import numpy as np

from finch_core.errors import BackendError
from finch_core.ir.assembly import Kernel

DONE, MOVED, FAILED, INTERRUPTED = 0, 1, 2, -1
CONTROL_WORDS = 5
GUARD = 4
"""The word of the control block by which signals reach a kernel."""
MOST_INDICES = 1 << 62
"""The longest dimension: one more than any index or length, and the sum of two indices, are numbers
of 64 bits with a sign, so that no sum of those that kernels and formats make wraps."""


def words(dtype: np.dtype[Any]) -> int:
    """Words of a record that a scalar of ``dtype`` takes."""
    return -(-dtype.itemsize // 8)


class CompiledKernel(Protocol):
    """What a backend makes of a kernel. ``CompleteKernel`` adds what is optional."""

    source: str
    """The text that was compiled, for ``as_text("source")``."""

    def __call__(self, control: int, *args: Any) -> int:
        """Run it: addresses of the control block and the records, and scalars by value."""

    def adopt(self, address: int, nbytes: int) -> Any:
        """An object with the buffer protocol over memory that the kernel allocated, and which
        frees it when the last user lets go."""


class CompleteKernel:
    """A compiled kernel with all that the core asks of one.

    A backend may leave out: ``is_draft``, whether the backend would compile it better (False);
    ``notes``, ``Kernel.notes`` of what was compiled, kept on disk with it (None); ``guard()``, the
    word of the control blocks of the calling thread by which signals reach it (0);
    ``interruption()``, the exception for a status of ``INTERRUPTED``; ``function``, the cheapest
    way to call it (itself).
    """

    __slots__ = ("adopt", "function", "guard", "interruption", "is_draft", "notes", "source")

    def __init__(self, made: Any, owner: str) -> None:
        missing = [name for name in ("source", "adopt") if not hasattr(made, name)]
        if missing or not callable(made):
            raise BackendError(
                f"what the backend {owner!r} compiled is no kernel: it lacks "
                f"{', '.join(missing) or 'a call'}"
            )
        self.source: str = made.source
        self.adopt: Callable[[int, int], Any] = made.adopt
        self.function: Callable[..., int] = getattr(made, "function", made)
        self.is_draft: bool = getattr(made, "is_draft", False)
        self.notes: str | None = getattr(made, "notes", None)
        self.guard: Callable[[], int] = getattr(made, "guard", int)
        self.interruption: Callable[[], BaseException] = getattr(
            made, "interruption", KeyboardInterrupt
        )

    def __call__(self, control: int, *args: Any) -> int:
        return self.function(control, *args)


class Backend(Protocol):
    """A backend; entry points of the group ``finch.backends`` name a function that makes one.
    ``CompleteBackend`` adds what is optional."""

    name: str

    def available(self) -> str:
        """An empty string if this backend can compile here, else the reason why not.

        Raises ``BackendError`` where the user has set it up, and wrongly (a compiler is named that
        does not exist): then no other backend takes its place.
        """

    def compile(self, kernel: Kernel, *, key: str = "") -> CompiledKernel:
        """Compile ``kernel``. ``key`` identifies it across processes (empty: no disk cache).
        Raises ``BackendError``."""

    def load(self, key: str, params: int) -> CompiledKernel | None:
        """The kernel of an earlier process with this key, or ``None``."""


REQUIRED = ("available", "compile", "load")
"""The methods that every backend has."""


class CompleteBackend:
    """A backend with all that the core asks of one; ``made`` is what the entry point made.

    A backend may leave out: ``describe() -> dict[str, str]``, what it found (its compiler, flags,
    cache), a word or two as the key, for ``python -m finch_core doctor``; ``clear_cache() -> int``,
    which removes what it keeps on disk and counts the files, for ``python -m finch_core cache
    clear``; ``without(names) -> Backend``, the backend without those of its optimisations that
    ``names``, a frozenset, contains; ``draft() -> Backend``, the backend as it compiles sooner and
    less well, for kernels that have little to do. What it makes then says by ``is_draft`` whether
    it is to be made again.
    """

    def __init__(self, made: Any) -> None:
        self.made = made
        self.name: str = made.name

    def available(self) -> str:
        reason: str = self.made.available()
        return reason

    def compile(self, kernel: Kernel, *, key: str = "") -> CompleteKernel:
        return CompleteKernel(self.made.compile(kernel, key=key), self.name)

    def load(self, key: str, params: int) -> CompleteKernel | None:
        found = self.made.load(key, params)
        return None if found is None else CompleteKernel(found, self.name)

    def describe(self) -> Mapping[str, str]:
        """What it found; nothing where it does not say."""
        told: Mapping[str, str] = self._ask("describe", {})
        return told

    def clear_cache(self) -> int | None:
        """How many files it removed; None where it keeps none."""
        removed: int | None = self._ask("clear_cache", None)
        return removed

    def without(self, names: Container[str]) -> CompleteBackend:
        """The backend without some of its optimisations; itself where it has none."""
        return _completed(self._ask("without", self, names))

    def draft(self) -> CompleteBackend:
        """The backend as it compiles sooner and less well; itself where it has no such way."""
        return _completed(self._ask("draft", self))

    def _ask(self, method: str, default: Any, *args: Any) -> Any:
        found = getattr(self.made, method, None)
        return default if found is None else found(*args)

    @property
    def module(self) -> str:
        """The module of its class: kernels on disk depend on its code."""
        return type(self.made).__module__


def _completed(backend: Any) -> CompleteBackend:
    return backend if isinstance(backend, CompleteBackend) else CompleteBackend(backend)
