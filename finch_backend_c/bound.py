"""Kernels bound to their arguments: a C function that passes them, so that a call has one argument.

Passing arguments to C is most of what a call on small data costs. One library for each signature,
kept in the disk cache, has the function that reads the arguments from a block of words and checks
before that what a bound call depends on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from finch_backend_c import loader, support
from finch_core.interface.abi import CHANGED, ELSEWHERE

HERE = """\
static _Thread_local char here;

uintptr_t finch_thread(void)
{
    return (uintptr_t)&here;
}

static inline double real(uint64_t word)
{
    double value;
    __builtin_memcpy(&value, &word, sizeof value);
    return value;
}
"""
"""The thread that calls, and floats from words."""
_TEXT = """\
#include <stdint.h>

// What a call is bound to: the thread, the words that must not change, the kernel, its arguments.
struct bound {
    uintptr_t thread;
    uint64_t count;
    const uint64_t *const *places;
    uint64_t *values;
    int64_t (*kernel)($types);
    uint64_t words[];
};

$here
// The words are remembered as the kernel leaves them: an output may have been resized.
int64_t finch_bound(struct bound *bound)
{
    if (bound->thread != (uintptr_t)&here)
        return $elsewhere;
    for (uint64_t k = 0; k < bound->count; k++)
        if (*bound->places[k] != bound->values[k])
            return $changed - (int64_t)k;
    const uint64_t *const w = bound->words;
    const int64_t status = bound->kernel($words);
    for (uint64_t k = 0; k < bound->count; k++)
        bound->values[k] = *bound->places[k];
    return status;
}
"""
_PASSED = {"r": "(uintptr_t)w[{}]", "i": "(int64_t)w[{}]", "u": "w[{}]", "f": "real(w[{}])"}
_HEAD = 5
"""The words of a ``struct bound`` before the arguments."""


def _letters(signature: str) -> str:
    """A letter for each word that is passed: the control block, then the parameters."""
    return "r" + signature.replace("c", "ff")


def passed_words(signature: str) -> tuple[str, str]:
    """The C types of the parameters of a kernel of this signature (see ``entry.signature``), and
    the arguments for them from an array ``w`` of words."""
    letters = _letters(signature)
    types = ", ".join(loader.PARAMETER[letter] for letter in letters)
    return types, ", ".join(_PASSED[letter].format(k) for k, letter in enumerate(letters))


def text(signature: str) -> str:
    """The C text for kernels of a signature (see ``entry.signature``)."""
    types, words = passed_words(signature)
    filled = {"$types": types, "$words": words, "$here": HERE}
    filled |= {"$elsewhere": str(ELSEWHERE), "$changed": str(CHANGED)}
    found = _TEXT
    for name, value in filled.items():
        found = found.replace(name, value)
    return found


@lru_cache(maxsize=64)
def _library(signature: str) -> tuple[Any, Any, Any]:
    """The function that runs a bound call, the one that names the calling thread, and the library
    that they live in. Raises ``BackendError`` or ``OSError`` where it cannot be made."""
    ffi, library = loader.ffi(), support.library("bound", text(signature), loader.open_library)
    run = library.load_function(ffi.typeof("int64_t(*)(uint64_t *)"), "finch_bound")
    thread = library.load_function(ffi.typeof("uintptr_t(*)(void)"), "finch_thread")
    return run, thread, library


def bound(
    function: Any, signature: str, args: Sequence[Any], places: Sequence[int]
) -> Callable[[], int]:
    """A callable that runs ``function``, of this ``signature``, on ``args`` (see
    ``interface.abi``). The words at the addresses ``places`` are watched."""
    run, thread, library = _library(signature)
    ffi, count = loader.ffi(), len(places)
    words = list(_words(_letters(signature), args))
    # one block: the struct, then the addresses of what is watched, then the values
    block = np.zeros(_HEAD + len(words) + 2 * count, np.uint64)
    start = block.ctypes.data + 8 * (_HEAD + len(words))
    kernel = int(ffi.cast("uintptr_t", function))
    block[:_HEAD] = thread(), count, start, start + 8 * count, kernel
    block[_HEAD : _HEAD + len(words)] = words
    block[_HEAD + len(words) :] = [*places, *(ffi.cast("uint64_t *", p)[0] for p in places)]
    call: Any = partial(run, ffi.cast("uint64_t *", block.ctypes.data))
    call.owner = function, block, library  # what must live as long
    call.words = block[_HEAD : _HEAD + len(words)]
    return call  # type: ignore[no-any-return]


def _words(letters: str, args: Sequence[Any]) -> Iterator[int]:
    """The arguments as words."""
    for letter, arg in zip(letters, args, strict=True):
        if letter == "f":
            yield struct.unpack("Q", struct.pack("d", arg))[0]
        else:
            yield int(arg) % 2**64
