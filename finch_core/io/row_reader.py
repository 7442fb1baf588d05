"""Reading of blocks of lines by compiled kernels, where these are surely right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from finch_core.io import row_kernels as kernels
from finch_core.io.number_text import Array

LINE_END = b"\n"


class Room:
    """The arrays that a block is read into. They are used again for later blocks: a call on memory
    that it knows costs least."""

    def __init__(self, order: int, width: int, rows: int) -> None:
        self.rows = rows
        self.indices = np.empty((order, rows), np.int64)
        self.mantissas = np.empty((width, rows), np.uint64)
        self.exponents = np.empty((width, rows), np.int64)
        self.signs = np.empty((width, rows), np.uint8)
        self.bits = np.empty((width, rows), np.uint64)
        self.found, self.sure = np.zeros(2, np.int64), np.zeros((), np.int64)
        self.length, self.count = np.zeros((), np.int64), np.zeros((), np.int64)


class RowReader:
    """Reader of blocks of lines with columns of these dtypes, each of int64, uint64 or float64:
    ``order`` indices, then integers, then floats. Threads may share it."""

    def __init__(self, dtypes: tuple[np.dtype[Any], ...], order: int) -> None:
        self._order, self._values = order, dtypes[order:]
        self._whole = sum(dtype.kind in "iu" for dtype in self._values)
        self._sizes = np.array([order, len(self._values), self._whole])
        self._power = kernels.powers(above=False)
        self._free: list[Room] = []

    @contextmanager
    def columns(self, block: bytes, lines: int) -> Iterator[list[Array] | None]:
        """The columns of a block of so many lines, valid until the context ends; None where it is
        not sure that the block is well-formed, or that all numbers are exact."""
        text = np.frombuffer(block if block.endswith(LINE_END) else block + LINE_END, np.uint8)
        room = self._room(lines)
        try:
            yield self._read(text, room)
        finally:
            self._free.append(room)

    def _read(self, text: Array, room: Room) -> list[Array] | None:
        room.length[()] = len(text)
        kernels.read_rows(
            text, self._sizes, room.length, room.indices, room.mantissas, room.exponents,
            room.signs, room.found,
        )  # fmt: skip
        count, sure = room.found.tolist()
        if not sure:
            return None
        result: list[Any] = [index[:count] for index in room.indices]
        for k in range(len(self._values)):
            result.append(self._column(room, k, count))
        return None if any(column is None for column in result) else result

    def _room(self, rows: int) -> Room:
        """A room for as many rows."""
        try:
            room: Room | None = self._free.pop()
        except IndexError:  # another thread may have taken the last one
            room = None
        if room is None or room.rows < rows:
            room = Room(self._order, len(self._values), rows * 5 // 4)
        return room

    def _column(self, room: Room, k: int, count: int) -> Array | None:
        mantissas, exponents, signs = room.mantissas[k], room.exponents[k], room.signs[k]
        if k < self._whole:
            return _integers(self._values[k], mantissas[:count], signs[:count])
        room.sure[()], room.count[()] = 1, count
        parts = mantissas, exponents, signs, self._power, room.count, room.sure
        kernels.nearest(room.bits[k], *parts)
        return room.bits[k, :count].view(np.float64) if room.sure else None


def _integers(dtype: np.dtype[Any], numbers: Array, signs: Array) -> Array | None:
    """Integers of fewer digits than 64 bits hold; None if one is negative, and ``dtype`` has no
    sign."""
    if not signs.any():
        return numbers.view(dtype)
    values: Array = numbers.view(np.int64)
    return None if dtype.kind == "u" else np.where(signs, -values, values)
