"""Copies of other libraries' objects that are kept from one call of a kernel to the next."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from finch_core.interface.conversions import Conversion

Array = np.ndarray[Any, np.dtype[Any]]

MOST = 16
"""The most objects whose copies are kept."""

PART = 1 << 16
"""Words that are compared at once: the temporary array fits in a cache."""

_kept: dict[int, tuple[Any, Any, list[Array], Any]] = {}
"""By the id of an object: a weak reference to it, its ``Conversion.state`` with copies of the
arrays, and the tensor."""


def argument_of(conversion: Conversion, value: Any) -> Any:
    """The tensor that a kernel reads for ``value``: that of an earlier call as long as every byte
    of the arrays of ``value`` is what it was then, else ``conversion.take(value)``."""
    key = id(value)
    known = _kept.get(key)
    parts = conversion.state(value) if known is not None else None
    if known is not None and parts is not None and known[0]() is value:
        _, before, copies, tensor = known
        if parts[0] == before and are_same(parts[1], copies):
            return tensor
    tensor = conversion.take(value)
    parts = conversion.state(value)
    _kept.pop(key, None)
    if parts is not None and all(array.flags.c_contiguous for array in parts[1]):
        if len(_kept) >= MOST:
            _kept.pop(next(iter(_kept)), None)
        copies = [array.copy() for array in parts[1]]
        _kept[key] = weakref.ref(value, lambda _: _kept.pop(key, None)), parts[0], copies, tensor
    return tensor


def are_same(arrays: Sequence[Array], copies: Sequence[Array]) -> bool:
    """Whether arrays have the dtypes, the shapes and the bytes of their copies."""
    if len(arrays) != len(copies):
        return False
    return all(
        array.dtype == copy.dtype
        and array.shape == copy.shape
        and array.flags.c_contiguous
        and _equal(_words(array), _words(copy))
        for array, copy in zip(arrays, copies, strict=True)
    )


def _words(array: Array) -> Array:
    flat = array.reshape(-1)
    return flat.view(np.uint64 if flat.nbytes % 8 == 0 and flat.flags.aligned else np.uint8)


def _equal(one: Array, other: Array) -> bool:
    return len(one) == len(other) and all(
        np.array_equal(one[k : k + PART], other[k : k + PART]) for k in range(0, len(one), PART)
    )


__all__ = ["are_same", "argument_of"]
