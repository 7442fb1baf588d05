"""Calls on a tensor and an array of NumPy whose plan is known: the kernel reads the array by a
record that is kept, so that no tensor is made of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from finch_array.ready import Ready
from finch_core.interface.plugins import when_plugins_change
from finch_core.runtime.arguments import as_tensor
from finch_core.runtime.arrays import from_array
from finch_core.runtime.frames import Frame
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.tensor_records import address_of, as_words, from_buffer
from finch_wrappers.swizzle import SwizzleTensor

Call = Callable[[Any, Any], Any]
MOST = 4096
"""The most calls that are remembered; beyond it all are forgotten."""

_calls: dict[Any, Call] = {}
_times: dict[Any, int] = {}
when_plugins_change(_calls.clear)


def key_of(a: Any, b: Any) -> Any:
    """What calls on ``a`` and ``b`` depend on, one of them a tensor, or a transposed view of one,
    and the other an array of NumPy in row-major order, aligned and writeable; None for others."""
    if b.__class__ is np.ndarray:
        tensor = a if a.__class__ is Tensor else _transposed(a)
        if tensor is not None and b.flags.carray:
            return a.signature, tensor.record[: tensor.layout.ndim].tobytes(), b.dtype, b.shape
    elif a.__class__ is np.ndarray:
        tensor = b if b.__class__ is Tensor else _transposed(b)
        if tensor is not None and a.flags.carray:
            return a.dtype, a.shape, b.signature, tensor.record[: tensor.layout.ndim].tobytes()
    return None


def _transposed(array: Any) -> Any:
    """The tensor of which an array is a view with other dimensions; None for others."""
    if array.__class__ is SwizzleTensor and array.tensor.__class__ is Tensor:
        return array.tensor
    return None


recall = _calls.get
"""The call that is remembered for a key; None if there is none."""


def comes_again(key: Any) -> bool:
    """Whether a call with this key came before, so that it is worth to be remembered: its second,
    fourth, eighth, as it may not be possible yet, or never."""
    if len(_times) >= MOST:
        _times.clear()
    times = _times[key] = _times.get(key, 0) + 1
    return times > 1 and not times & (times - 1)


def remember(key: Any, ready: Ready, a: Any, b: Any) -> None:
    """Remember the plan of a call, if its kernel is compiled for good and all that it makes is a
    dense result."""
    if not ready.is_plain:
        return
    array, other, place = (a, b, 1) if a.__class__ is np.ndarray else (b, a, 2)
    if array.dtype.kind in "biufc":  # whose memory cffi sees (see ``address_of``)
        if len(_calls) >= MOST:
            _calls.clear()
        _calls[key] = _call_of(ready, array, other, place)


class _Frames(threading.local):
    """Frames of a thread that are not in use, each with the words of its array's record."""

    def __init__(self) -> None:
        self.free: list[tuple[Frame, Any, Any, Any]] = []


def _call_of(ready: Ready, array: np.ndarray[Any, Any], other: Any, place: int) -> Call:
    """Calls of a plan whose argument ``place`` is an array like this one, and whose other one is
    like ``other``."""
    template = from_array(array, Tensor).record.copy()
    word, blank, back, frames = array.ndim, ready.blank, ready.back, _Frames()
    seen = other.__class__ is not Tensor

    def made() -> tuple[Frame, Any, Any, Any]:
        frame, record = Frame(ready.specialized, 3), template.copy()
        frame.words[place + 1] = address_of(record)
        return frame, frame.words, as_words(record), record

    def call(a: Any, b: Any) -> Any:
        if seen:
            a, b = (a.tensor, b) if place == 2 else (a, b.tensor)
        out = blank()
        free = frames.free
        kept = free.pop() if free else made()
        frame, words, record, _ = kept
        words[1] = out.address
        if place == 2:
            record[word] = from_buffer(b)
            words[2] = a.address
        else:
            record[word] = from_buffer(a)
            words[3] = b.address
        try:
            code = frame.run()
            if code:
                frame.after(code, (out, as_tensor(a), as_tensor(b)))
        except BaseException as error:  # signal handlers run, and raise, as the kernel returns
            frame.leave(error, (out, as_tensor(a), as_tensor(b)))
            raise
        free.append(kept)
        return out if back is None else SwizzleTensor.of_valid(out, back)

    return call


__all__ = ["comes_again", "key_of", "recall", "remember"]
