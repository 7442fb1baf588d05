"""Calls of kernels whose arguments are compared in C (see ``interface.inline_cache``).

There is a library for each signature of kernels, with one function, which Python calls with the
tuple of arguments (``inline_cache_code``). Whether the fields of arrays are where it reads them is
tested before the first use.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from finch_backend_c import loader, support
from finch_backend_c.inline_cache_code import MOST_DIMENSIONS, MOST_RANGES, text
from finch_core.interface.inline_cache import (
    ABSENT,
    MISSED,
    ArrayGuard,
    InlineCache,
    NumberGuard,
    TensorGuard,
)

_NUMBER, _ARRAY, _TENSOR = range(3)
_MARKS = tuple(sys.intern(name) for name in ("writer", "ended", "lent"))
_NAMES = tuple(sys.intern(name) for name in ("state", "signature", "address", "memory"))


class _Library:
    """The functions of a library, called with the interpreter's lock."""

    def __init__(self, path: str) -> None:
        import ctypes

        library = ctypes.PyDLL(path)
        self.thread = library.finch_thread
        self.thread.restype = ctypes.c_size_t
        self.caller = library.finch_caller
        self.caller.restype, self.caller.argtypes = ctypes.py_object, [ctypes.py_object]
        fields = library.finch_fields
        fields.restype, fields.argtypes = None, [ctypes.py_object, ctypes.c_void_p]
        self.reads_arrays = all(_fields(fields, a) == _expected(a) for a in _examples())


def _fields(read: Callable[[Any, int], None], array: np.ndarray[Any, Any]) -> list[int]:
    found = np.zeros(6, np.uint64)
    read(array, found.ctypes.data)
    return found.tolist()


def _expected(array: np.ndarray[Any, Any]) -> list[int]:
    flags = array.flags
    bits = flags.c_contiguous + 256 * flags.aligned + 1024 * flags.writeable
    shape, start = array.shape, array.ctypes.data
    return [id(type(array)), start, array.ndim, shape[0], id(array.dtype), bits]


def _examples() -> Iterator[np.ndarray[Any, Any]]:
    """Arrays that differ in each of the fields."""
    yield np.zeros(3)
    yield np.zeros((5, 4), np.int8).T
    read_only = np.zeros((2, 3, 4), np.float32)
    read_only.flags.writeable = False
    yield read_only
    yield np.zeros(17, np.int8)[1:].view(np.int64)


@lru_cache(maxsize=64)
def _shared(signature: str, count: int) -> support.Shared[_Library]:
    return support.Shared("inline cache", text(signature, count), _Library, support.OWN)


@lru_cache(maxsize=1)
def is_supported() -> bool:
    """Whether this Python has the ABI that is used: it is CPython, with the interpreter's lock, and
    addresses are words."""
    has_lock = not sysconfig.get_config_var("Py_GIL_DISABLED")
    return sys.implementation.name == "cpython" and has_lock and sys.maxsize == 2**63 - 1


def caller(kernel: Any, signature: str, cache: InlineCache) -> Callable[[Any], Any] | None:
    """The function of tuples of arguments that calls ``kernel`` through ``cache``; None where there
    is none yet, as its library is being compiled beside, and where there is none at all."""
    if not is_supported() or "c" in signature:
        return None
    guards = cache.guards
    if any(isinstance(g, ArrayGuard) and g.ndim > MOST_DIMENSIONS for g in guards):
        return None
    if any(isinstance(g, TensorGuard) and len(g.memory) > MOST_RANGES for g in guards):
        return None
    shared = _shared(signature, len(guards))
    if not shared.is_ready():
        return None
    library = shared.get()
    if library is None or not library.reads_arrays:
        return None
    states = [g.state if isinstance(g, TensorGuard) else None for g in guards]
    names, attributes = _triples(cache.names), _triples(cache.attributes)
    places, watched = cache.watched
    shapes = [
        np.array(g.shape, np.intp) if isinstance(g, ArrayGuard) and g.shape else None
        for g in guards
    ]
    words = [
        library.thread(), int(loader.ffi().cast("uintptr_t", kernel.function)),
        cache.control.ctypes.data, cache.calls.ctypes.data,
        -1 if cache.result is None else cache.result,
        *map(id, (MISSED, None, cache.gather, cache.settle, cache.leave, *_NAMES, object)),
        *map(id, (*_MARKS, cache.writer, True, False)), 0,
        names.ctypes.data, attributes.ctypes.data, len(places), places.ctypes.data,
        watched.ctypes.data,
        *(cache.workspace or (0,)),
    ]  # fmt: skip
    for guard, shape in zip(guards, shapes, strict=True):
        words += _guard_words(guard, 0 if shape is None else shape.ctypes.data)
    block = np.array([word % 2**64 for word in words], np.uint64)
    kept = (block, names, attributes, shapes, kernel, cache, library)
    owner = (int(block.ctypes.data), states, kept)
    found: Callable[[Any], Any] = library.caller(owner)
    return found


def _triples(seen: Sequence[tuple[Any, str, Any]]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The words of an array of ``struct seen``."""
    found = np.zeros((len(seen) + 1, 3), np.uint64)
    for row, (owner, name, value) in zip(found, seen, strict=False):
        row[:] = id(owner), id(name), 0 if value is ABSENT else id(value)
    return found


def _guard_words(guard: NumberGuard | ArrayGuard | TensorGuard, shape: int) -> Sequence[int]:
    """The words of a ``struct guard``, for an array with its ``shape`` at that address."""
    rest = [0] * (2 * MOST_RANGES)
    if isinstance(guard, NumberGuard):
        return [_NUMBER, id(guard.type), *[0] * 11, *rest]
    if isinstance(guard, ArrayGuard):
        own = [id(guard.dtype), guard.ndim, guard.dtype.itemsize, shape]
        return [_ARRAY, id(np.ndarray), guard.written, 0, *own, *[0] * 5, *rest]
    flat = [word for range_ in guard.memory for word in range_]
    rest[: len(flat)] = flat
    own = [id(guard.state), id(guard.signature), guard.alone, guard.address, len(guard.memory)]
    return [_TENSOR, id(guard.type), guard.written, guard.growing, *[0] * 4, *own, *rest]
