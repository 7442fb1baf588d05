"""Outputs that are made for each call, ``Tensor(fmt)``: they get the memory that the last call's
needed, and a repeated call knows them by the state that all of a format share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from finch_core.runtime.storage import TensorStorage
from finch_core.runtime.tensor_records import ADDRESS, Blank, cast, from_buffer

Caller = Callable[..., Any]
_LITTLE = 1 << 12  # bytes of spare room that do not matter
_LINE = 64  # bytes of a line of the cache, with which buffers begin


class Room:
    """Memory of ``size`` elements for the one buffer that the leaf of a tensor has."""

    __slots__ = ("_dtype", "_nbytes", "_ndim", "_number", "_offset", "_size", "_worth")

    def __init__(self, tensor: TensorStorage, size: int) -> None:
        (part,) = tensor.layout.buffers
        self._number, self._offset, self._dtype = part.number, part.offset, part.field.dtype
        self._size, self._nbytes = size, size * part.field.dtype.itemsize
        self._ndim, self._worth = tensor.ndim, size // 4 if self._nbytes > _LITTLE else 0

    def give(self, tensor: TensorStorage) -> None:
        """Give the buffer of a tensor this memory, which is not set."""
        nbytes, size, offset = self._nbytes, self._size, self._offset
        memory = np.empty(nbytes + _LINE, np.uint8)
        begin = int(cast(ADDRESS, from_buffer(memory)))
        skipped = -begin % _LINE
        start = begin + skipped
        array, state = np.frombuffer(memory, self._dtype, size, skipped), object()
        record = tensor.record
        tensor.arrays[self._number] = array  # from here on no call: no signal's handler between
        record[offset] = start
        record[offset + 1] = size
        tensor.memory, tensor.state = ((start, start + nbytes),), state

    def is_mostly_spare(self, tensor: TensorStorage) -> bool:
        """Whether a tensor that got it leaves most of it, which is not little, unused."""
        if self._ndim == 1:
            return tensor.record.item(0) < self._worth
        return self._worth > 0 and math.prod(tensor.shape) < self._worth


class NewOutputs:
    """What is known of the outputs of a kernel's specialisation, at these ``places``, that were
    made for a call: those that needed little memory get it from NumPy before the next call, in less
    time than it takes to adopt what a kernel allocates."""

    def __init__(self, places: Sequence[int]) -> None:
        self._places = places
        self._rooms: dict[int, Room] = {}

    def note(self, values: Sequence[Any]) -> None:
        """Remember what the outputs of a call needed, whose buffers the kernel has moved."""
        rooms = {}
        for k in self._places:
            value = values[k]
            if isinstance(value, TensorStorage) and value.arrays and (sizes := value.room()):
                rooms[k] = Room(value, *sizes)
        self._rooms = rooms

    def give(self, values: Sequence[Any]) -> bool:
        """Give new outputs what they will need; whether there are any."""
        given = False
        for k, room in self._rooms.items():
            value = values[k]
            if value.arrays and not value.arrays[0].size:
                room.give(value)
                given = True
        return given

    def look_back(self, values: Sequence[Any]) -> None:
        """Forget what outputs needed, where those of a call that was given it needed far less."""
        for k, room in self._rooms.items():
            if room.is_mostly_spare(values[k]):
                self._rooms = {}

    def caller(self, call: Caller, places: Sequence[int], check: Callable[[Any], None]) -> Caller:
        """``call`` for blank tensors at ``places``, with other addresses each time. ``check``
        raises if arguments share memory, as blank ones do that are the same."""
        if len(places) == 1:
            return self._caller_of_one(call, places[0])

        def run(words: Sequence[Any], given: Sequence[Any], values: Any = None) -> Any:
            tensors = given if values is None else values  # converted, where there are values
            if len({id(tensors[k]) for k in places}) < len(places):
                check(given)
            words, rooms = [*words], self._rooms
            for k in places:
                tensor = tensors[k]
                words[k] = tensor.address
                if k in rooms:
                    rooms[k].give(tensor)
            found = call(words, given, values)
            if rooms:
                self.look_back(tensors)
            return found

        return run

    def _caller_of_one(self, call: Caller, k: int) -> Caller:
        """``caller`` for one blank tensor."""

        def run(words: Sequence[Any], given: Sequence[Any], values: Any = None) -> Any:
            tensor, room = (given if values is None else values)[k], self._rooms.get(k)
            words = [*words]
            words[k] = tensor.address
            if room is None:
                return call(words, given, values)
            room.give(tensor)
            found = call(words, given, values)
            if room.is_mostly_spare(tensor):
                self._rooms = {}
            return found

        return run


def blank_places(values: Sequence[Any]) -> tuple[int, ...]:
    """Where there are tensors that were made without a shape, and have had no memory since."""
    return tuple([k for k, value in enumerate(values) if value.state.__class__ is Blank])


__all__ = ["NewOutputs", "Room", "blank_places"]
