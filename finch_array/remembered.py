"""Calls on a tensor and an array of NumPy whose plan is known: the kernel reads the array by a
record that is kept, so that no tensor is made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_array.ready import Ready
from finch_core.interface.plugins import hub
from finch_core.runtime.arrays import from_array
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.tensor_records import ADDRESS, address_of, cast, from_buffer

Call = Callable[[Any, Any], Any]
MOST = 4096
"""The most calls that are remembered; beyond it all are forgotten."""

_calls: dict[Any, Call] = {}


def key_of(a: Any, b: Any) -> Any:
    """What calls on ``a`` and ``b`` depend on, one of them a tensor and the other an array of
    NumPy in row-major order, aligned and writeable; None for others."""
    if a.__class__ is Tensor:
        if b.__class__ is np.ndarray and b.flags.carray:
            dims = a.record[: a.layout.ndim].tobytes()
            return hub().generation, a.signature, dims, b.dtype, b.shape
    elif a.__class__ is np.ndarray and b.__class__ is Tensor and a.flags.carray:
        return hub().generation, a.dtype, a.shape, b.signature, b.record[: b.layout.ndim].tobytes()
    return None


recall = _calls.get
"""The call that is remembered for a key; None if there is none."""


def remember(key: Any, ready: Ready, a: Any, b: Any) -> None:
    """Remember the plan of a call, if its kernel is compiled for good and all that it makes is a
    dense result."""
    if ready.is_plain:
        if len(_calls) >= MOST:
            _calls.clear()
        array, place = (a, 1) if a.__class__ is np.ndarray else (b, 2)
        _calls[key] = _call_of(ready, array, place)


def _call_of(ready: Ready, array: np.ndarray[Any, Any], place: int) -> Call:
    """Calls of a plan whose argument ``place`` is an array like this one, the other a tensor."""
    template = from_array(array, Tensor).record.copy()
    word, blank, run = array.ndim, ready.blank, ready.specialized.call
    free: list[tuple[Any, int]] = []  # a record is of one call at a time

    def call(a: Any, b: Any) -> Any:
        out = blank()
        try:
            record, address = free.pop()
        except IndexError:
            record = template.copy()
            address = address_of(record)
        if place == 2:
            record[word] = int(cast(ADDRESS, from_buffer(b)))
            run((out.address, a.address, address), (out, a, b))
        else:
            record[word] = int(cast(ADDRESS, from_buffer(a)))
            run((out.address, address, b.address), (out, a, b))
        free.append((record, address))
        return out

    return call


__all__ = ["key_of", "recall", "remember"]
