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

from typing import Any, Protocol

import numpy as np

from finch_core.assembly import Kernel

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
    """What a backend makes of a kernel.

    ``is_draft``, where it has that and it is true, says that the backend would compile it better.
    ``notes``, where it has that, is ``Kernel.notes`` of what was compiled, kept on disk with it.
    ``guard()``, where it has that, gives the word of the control blocks of the calling thread by
    which signals reach it, and ``interruption()`` the exception for a status of ``INTERRUPTED``.
    """

    source: str
    """The text that was compiled, for ``as_text("source")``."""

    def __call__(self, control: int, *args: Any) -> int:
        """Run it: addresses of the control block and the records, and scalars by value."""

    def adopt(self, address: int, nbytes: int) -> Any:
        """An object with the buffer protocol over memory that the kernel allocated, and which
        frees it when the last user lets go."""


class Backend(Protocol):
    """A backend; entry points of the group ``finch.backends`` name a function that makes one.

    Four methods more are asked for where they exist: ``describe() -> dict[str, str]`` tells what
    the backend found (its compiler, flags, cache), a word or two as the key, for
    ``python -m finch_core doctor``; ``clear_cache() -> int`` removes what it keeps on disk and
    counts the files, for ``python -m finch_core cache clear``; ``without(names) -> Backend`` gives
    the backend without those of its optimisations that ``names``, a frozenset, contains;
    ``draft() -> Backend`` gives the backend as it compiles sooner and less well, for kernels that
    have little to do. What it makes says by ``is_draft`` whether it is to be made again.
    """

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
