"""The calling convention between tensors, compiled kernels and backends.

A tensor's *record* is a block of 8-byte words (a NumPy ``uint64`` array): its dimensions, then
the persistent scalars of its levels, then two words a buffer, its address and its capacity in
elements. Offsets are in words. A kernel is a C function

    int64_t kernel(int64_t *control, P0 p0, P1 p1, ...)

with one parameter per ``Kernel.params`` in order: a record's address (``uint64_t *``) or a
scalar by value: ``double`` for floats of any width, ``int64_t`` for bools and signed,
``uint64_t`` for unsigned integers, two ``double`` (real, imaginary) for complex.

It returns 0 on success if no buffer moved, 1 on success if some buffer of a record was
reallocated (its words then hold the new address and capacity), and ``2 + site`` if it failed at
``site``; ``control[0:3]`` then hold the values of ``Fail``, and ``control[3]`` is 1 if a buffer
moved. It returns -1 if a signal handler ended it; records then describe the present buffers.
``control[4]`` and ``control[5]`` are the results of ``guard()`` and ``pool()`` of the compiled
kernel, or 0 if it has none. Memory
that a kernel allocates comes from the backend's allocator, which also frees it, through the
compiled kernel's ``adopt``. A kernel never frees or reallocates memory that it did not allocate
during the same call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from threading import get_ident
from typing import Any, Protocol

import numpy as np
from _cffi_backend import FFI

from finch_core.errors import BackendError, FinchError
from finch_core.interface.inline_cache import InlineCache
from finch_core.ir.assembly import Kernel

_ffi = FFI()

DONE, MOVED, FAILED, INTERRUPTED = 0, 1, 2, -1
ELSEWHERE, CHANGED = -2, -3
"""What a bound kernel gives besides, without running (``CompleteKernel.bound``)."""
CONTROL_WORDS = 6
GUARD, POOL = 4, 5
"""The words of the control block by which signals reach a kernel, and it reaches threads."""
MOST_INDICES = 1 << 62
"""The greatest length of a dimension. One more than any index or length, and the sum of two
indices, fit an int64, so no such sum in a kernel or format overflows."""


def words(dtype: np.dtype[Any]) -> int:
    """The number of words of a record that a scalar of ``dtype`` occupies."""
    return -(-dtype.itemsize // 8)


class CompiledKernel(Protocol):
    """A kernel compiled by a backend. ``CompleteKernel`` adds the optional members."""

    source: str
    """The text that was compiled, for ``as_text("source")``."""

    def __call__(self, control: int, *args: Any) -> int:
        """Run it with the addresses of the control block and the records, and scalars by value.

        Returns the status described above.
        """

    def adopt(self, address: int, nbytes: int) -> Any:
        """An object with the buffer protocol over ``nbytes`` of memory that the kernel allocated.

        It frees the memory when its last user releases it.
        """


class Compilation(Protocol):
    """A kernel that is compiled beside its caller. Once it has ended, ``Backend.load`` finds the
    kernel; where it does not, the compiler has failed."""

    def has_ended(self) -> bool:
        """Whether there is nothing to wait for."""

    def wait(self) -> None:
        """Return when it has ended, or give up what was not begun."""


def _no_other(*_: Any, **__: Any) -> None:
    """A kernel that is not compiled again."""


def _no_cache(_cache: InlineCache, /) -> None:
    """A kernel whose arguments are compared in Python."""


class CompleteKernel:
    """A compiled kernel with every member that the core uses; the optional ones have defaults.

    A backend may omit: ``is_draft``, whether the backend can compile the kernel with more
    optimisation (False); ``is_simpler``, whether that was made of other assembly than this (False);
    ``optimised()``, which begins to compile a draft with more optimisation
    beside its caller, and gives a ``Compilation``, or None where it cannot; ``notes``,
    ``Kernel.notes`` of the compiled kernel, stored on disk with it (None); ``guard()``, the word of
    the calling thread's control blocks by which signals reach it (0); ``pool()``, the word by which
    it reaches the threads on which its parallel loops run (0); ``interruption()``, the exception
    for the status ``INTERRUPTED``; ``function``, the fastest callable that runs it (itself);
    ``bound(args, places)``, itself bound to its arguments, the control block's address first: a
    callable without arguments that runs it and gives the status. Nothing runs, and the status is
    ``CHANGED - k``, where the word of memory at the address ``places[k]``, the first such, is not
    what it was after the last run (before the first: when the kernel was bound); and ``ELSEWHERE``
    in a thread other than the one that bound it. If the callable has ``words``, its arguments in a
    mutable sequence, the addresses among them may be replaced between runs.
    ``inline_cache(cache)``: a function of a tuple of arguments that calls it through an
    ``InlineCache`` (``interface.inline_cache``), or None where there is none yet, or none at all
    (None).
    """

    __slots__ = (
        "_adopt",
        "bound",
        "function",
        "guard",
        "inline_cache",
        "interruption",
        "is_draft",
        "is_simpler",
        "notes",
        "optimised",
        "owner",
        "pool",
        "source",
    )

    def __init__(self, made: Any, owner: str) -> None:
        missing = [name for name in ("source", "adopt") if not hasattr(made, name)]
        if missing or not callable(made):
            raise BackendError(
                f"what the backend {owner!r} compiled is not a kernel: it lacks "
                f"{', '.join(missing) or 'a call'}"
            )
        self.owner = owner
        self.source: str = made.source
        self._adopt: Callable[[int, int], Any] = made.adopt
        self.function: Callable[..., int] = getattr(made, "function", made)
        self.is_draft: bool = getattr(made, "is_draft", False)
        self.is_simpler: bool = getattr(made, "is_simpler", False)
        self.notes: str | None = getattr(made, "notes", None)
        self.optimised: Callable[[], Compilation | None] = getattr(made, "optimised", _no_other)
        self.guard: Callable[[], int] = getattr(made, "guard", int)
        self.pool: Callable[[], int] = getattr(made, "pool", int)
        self.bound: Callable[[Sequence[Any], Sequence[int]], Callable[[], int]] = getattr(
            made, "bound", partial(bound_here, self.function)
        )
        self.inline_cache: Callable[[InlineCache], Callable[[Any], Any] | None] = getattr(
            made, "inline_cache", _no_cache
        )
        self.interruption: Callable[[], BaseException] = getattr(
            made, "interruption", KeyboardInterrupt
        )

    def __call__(self, control: int, *args: Any) -> int:
        return self.function(control, *args)

    def adopt(self, address: int, nbytes: int) -> Any:
        """The memory of a buffer that the kernel allocated. Raises ``BackendError`` for a backend
        that fails, or gives less."""
        try:
            memory = self._adopt(address, nbytes)
            found = memoryview(memory).nbytes
        except Exception as error:
            if not _is_mistake(error):
                raise
            what = f"does not hand over memory: {type(error).__name__}: {error}"
            raise _mistake(self.owner, what) from error
        if found < nbytes:
            what = f"hands over {found} bytes of a buffer of {nbytes}"
            raise _mistake(self.owner, what)
        return memory

    def unknown(self, status: Any) -> BackendError:
        """The error for a status that the calling convention does not have."""
        what = f"ends a kernel with {status!r}, which is no status of it"
        return _mistake(self.owner, what)

    def blame(self, error: BaseException) -> None:
        """Note on an exception that a call raised what ran. It may be of a signal's handler, and
        so stays what it is."""
        if isinstance(error, Exception) and not isinstance(error, FinchError):
            without = "" if self.owner == "interpreter" else f"; {_WITHOUT}"
            error.add_note(f"raised while a kernel of the backend {self.owner!r} ran{without}")


def _is_mistake(error: Exception) -> bool:
    """Whether an exception is likely of a mistake in what raised it: handlers of signals, which
    raise anywhere, raise ``TimeoutError`` or an exception of their own."""
    return type(error).__module__ == "builtins" and not isinstance(error, TimeoutError)


def _mistake(name: str, what: str) -> BackendError:
    """The error for what a backend does against its contract."""
    return BackendError(f"the backend {name!r} {what}", hint=f"this is a mistake in it; {_WITHOUT}")


_WITHOUT = "kernel(backend='interpreter') and FINCH_BACKEND=interpreter do without it"


def bound_here(
    function: Callable[..., int], args: Sequence[Any], places: Sequence[int]
) -> Callable[[], int]:
    """``CompleteKernel.bound`` of backends that do not have it."""
    words = [_ffi.cast("uint64_t *", place) for place in places]
    values, thread, args = [word[0] for word in words], get_ident(), list(args)

    def run() -> int:
        if get_ident() != thread:
            return ELSEWHERE
        for k, (word, value) in enumerate(zip(words, values, strict=True)):
            if word[0] != value:
                return CHANGED - k
        status = function(*args)
        values[:] = [word[0] for word in words]
        return status

    run.words = args  # type: ignore[attr-defined]
    return run


class Backend(Protocol):
    """A backend; entry points of the group ``finch.backends`` name a function that makes one.

    ``CompleteBackend`` adds the optional members.
    """

    name: str

    def available(self) -> str:
        """An empty string if this backend can compile here, else the reason why not.

        Raises ``BackendError`` if the user has configured it wrongly (a compiler is named that
        does not exist): then no other backend is used instead.
        """

    def compile(self, kernel: Kernel, *, key: str = "") -> CompiledKernel:
        """Compile ``kernel``; ``key`` identifies it across processes (empty: no disk cache).

        Raises ``BackendError`` if the compiler fails.
        """

    def load(self, key: str, params: int) -> CompiledKernel | None:
        """The kernel that an earlier process compiled under this key, or ``None``."""


REQUIRED = ("available", "compile", "load")
"""The methods that every backend has."""


class CompleteBackend:
    """A backend with every member that the core uses; ``made`` is the entry point's object.

    A backend may omit: ``describe() -> dict[str, str]``, what it uses (its compiler, flags,
    cache) under short keys, for ``python -m finch_core doctor``; ``clear_cache() -> int``,
    which removes its files on disk and counts them, for ``python -m finch_core cache clear``;
    ``without(names) -> Backend``, the backend without those of its optimisations that the
    frozenset ``names`` contains, and ``optimisations``, the frozenset of all such names;
    ``draft() -> Backend``, the backend set to compile sooner with less optimisation, for kernels
    with little work. The kernels of a draft backend have ``is_draft`` set if they can be compiled
    again with more optimisation. A draft backend may have ``compile_simpler(kernel, full, *,
    key="")``, which compiles a draft of ``kernel``, a simpler form of ``full()``, or that where it
    makes no draft; and ``compile_beside(kernel, *, key="")``, which begins to compile the kernel of
    a draft beside the caller, and gives a ``Compilation``, or None where it cannot.
    """

    def __init__(self, made: Any) -> None:
        self.made = made
        self.name: str = made.name

    def available(self) -> str:
        """Why it cannot be used here; an empty text if it can. One that fails cannot."""
        try:
            reason: object = self.made.available()
        except FinchError:
            raise
        except Exception as error:
            return f"available() failed: {type(error).__name__}: {error}"
        return reason if isinstance(reason, str) else f"available() gives {reason!r}, not a text"

    def compile(self, kernel: Kernel, *, key: str = "") -> CompleteKernel:
        with self._blamed(f"does not compile the kernel {kernel.name!r}"):
            return CompleteKernel(self.made.compile(kernel, key=key), self.name)

    @property
    def compiles_simpler(self) -> bool:
        """Whether there is ``compile_simpler``."""
        return hasattr(self.made, "compile_simpler")

    def compile_simpler(
        self, kernel: Kernel, full: Callable[[], Kernel], *, key: str = ""
    ) -> CompleteKernel:
        with self._blamed(f"does not compile the kernel {kernel.name!r}"):
            return CompleteKernel(self.made.compile_simpler(kernel, full, key=key), self.name)

    def compile_beside(self, kernel: Kernel, *, key: str) -> Compilation | None:
        """Begin to compile the kernel of a draft with more optimisation; None where the backend
        cannot."""
        begun: Callable[..., Compilation | None] = getattr(self.made, "compile_beside", _no_other)
        with self._blamed(f"does not compile the kernel {kernel.name!r}"):
            return begun(kernel, key=key)

    def load(self, key: str, params: int) -> CompleteKernel | None:
        with self._blamed("does not load a kernel that it has kept"):
            found = self.made.load(key, params)
        return None if found is None else CompleteKernel(found, self.name)

    def describe(self) -> Mapping[str, str]:
        """What the backend uses, by short keys; empty if it does not say."""
        told: Mapping[str, str] = self._ask("describe", {})
        return told

    def clear_cache(self) -> int | None:
        """The number of files removed; None if the backend stores none."""
        removed: int | None = self._ask("clear_cache", None)
        return removed

    def without(self, names: Container[str]) -> CompleteBackend:
        """The backend without some of its optimisations; itself if it has none."""
        return _completed(self._ask("without", self, names))

    def draft(self) -> CompleteBackend:
        """The backend set to compile sooner with less optimisation; itself if it has no such
        mode."""
        return _completed(self._ask("draft", self))

    @property
    def optimisations(self) -> frozenset[str] | None:
        """The names that ``without`` takes; none without that method; None if it does not say."""
        if not hasattr(self.made, "without"):
            return frozenset()
        found: frozenset[str] | None = getattr(self.made, "optimisations", None)
        return found

    def _ask(self, method: str, default: Any, *args: Any) -> Any:
        found = getattr(self.made, method, None)
        return default if found is None else found(*args)

    @contextlib.contextmanager
    def _blamed(self, what: str) -> Iterator[None]:
        """A context in which an exception that is not ours names the backend."""
        try:
            yield
        except (FinchError, MemoryError, AssertionError):  # the last: illegal assembly
            raise
        except Exception as error:
            if not _is_mistake(error):
                raise
            raise BackendError(
                f"the backend {self.name!r} {what}: {type(error).__name__}: {error}",
                hint=f"this is a mistake in {self.module}; {_WITHOUT}",
            ) from error

    @property
    def module(self) -> str:
        """The module of its class: the keys of kernels on disk depend on its code."""
        return type(self.made).__module__


def _completed(backend: Any) -> CompleteBackend:
    return backend if isinstance(backend, CompleteBackend) else CompleteBackend(backend)
