"""The records of tensors, by which kernels access them, and what those of one format share."""

from __future__ import annotations

from typing import Any

import numpy as np
from _cffi_backend import FFI

from finch_core.interface.layout import Layout, Part, layout
from finch_core.interface.level import Format
from finch_core.interface.signatures import tensor_signature, unseen_signature
from finch_core.records import replacing

_ffi = FFI()
cast, from_buffer = _ffi.cast, _ffi.from_buffer
ADDRESS = _ffi.typeof("uintptr_t")
"""``int(cast(ADDRESS, from_buffer(array)))`` is ``address_of`` a contiguous array of numbers, where
a call of a function counts."""
ADDRESSES = _ffi.typeof("uintptr_t *")
"""The words of records, to be read."""


def as_words(record: np.ndarray[Any, Any]) -> Any:
    """A record as cffi writes its words: ``as_words(record)[k] = from_buffer(array)`` sets one to
    the address of a contiguous array of numbers, in less time than by its value. The record has to
    be kept."""
    return _ffi.cast("void **", address_of(record))


with_levels = replacing(Layout, "levels")
"""``with_levels(layout, levels)``: the layout of a format that differs in nothing but the fill."""


class Blank:
    """The state of the tensors of a format that were made without a shape, while they have no
    memory that others could share."""

    __slots__ = ()


class Unset:
    """The initial record and buffers that all tensors of a format share."""

    __slots__ = (
        "arrays", "blank", "layout", "nbytes", "places", "record", "scratch", "signature", "sized",
        "sizeless",
    )  # fmt: skip
    sizeless: tuple[np.ndarray[Any, Any], list[np.ndarray[Any, Any]]] | None
    sized: list[Part]
    """The buffers of ``sizeless`` that have elements, and so are not shared."""
    places: list[tuple[int, int, bool]]
    """The buffers: their numbers, where the record has their addresses, and whether ``from_buffer``
    takes arrays of their dtypes."""

    def __init__(self, format: Format) -> None:
        self.signature, self.layout = tensor_signature(format), layout(format)
        parts = (*self.layout.scalars, *self.layout.buffers)
        self.scratch = [part for part in parts if part.field.scratch]
        self.sizeless, self.sized = None, []
        self.arrays = [np.empty(0, part.field.dtype) for part in self.layout.buffers]
        self.record = np.zeros(self.layout.words, np.uint64)
        self.nbytes = self.record.nbytes
        self.places = [
            (part.number, part.offset, part.field.dtype.kind in "biufc")
            for part in self.layout.buffers
        ]
        self.blank = Blank()
        for part in self.layout.buffers:
            self.record[part.offset] = address_of(self.arrays[part.number])
        for part in self.layout.scalars:
            set_scalar(self.record, part, part.field.init)

    def alike(self, format: Format) -> Unset:
        """The same for a format that differs in nothing but the fill: its layout is not made again,
        which takes longer than a small kernel."""
        other = Unset.__new__(Unset)
        other.signature = unseen_signature(format)
        other.layout = with_levels(self.layout, format.levels())
        other.scratch, other.sizeless, other.sized = self.scratch, None, []
        other.arrays, other.record, other.nbytes = self.arrays, self.record, self.nbytes
        other.places = self.places
        other.blank = Blank()
        return other


_UNSET: dict[Format, Unset] = {}


UNSET_BY_ID: dict[int, tuple[Format, Unset]] = {}
"""The same by the identity of a format, which is kept alive: comparing formats takes longer."""


MOST_FORMATS = 256
"""The most formats that are known by their identity; four times as many are known at all."""


def unset(format: Format) -> Unset:
    """What all tensors of a format share."""
    known = UNSET_BY_ID.get(id(format))
    if known is not None:
        return known[1]
    made = _UNSET.get(format)
    if made is None:
        if len(_UNSET) >= 4 * MOST_FORMATS:
            _UNSET.clear()
        made = _UNSET.setdefault(format, Unset(format))
    if len(UNSET_BY_ID) >= MOST_FORMATS:
        UNSET_BY_ID.clear()
    UNSET_BY_ID[id(format)] = format, made
    return made


def set_scalar(record: np.ndarray[Any, np.dtype[np.uint64]], part: Part, value: Any) -> None:
    """Set a scalar of a level in a tensor's record."""
    raw = record[part.offset :].view(np.uint8)[: part.field.dtype.itemsize]
    raw.view(part.field.dtype)[0] = value


def address_of(array: np.ndarray[Any, Any]) -> int:
    """The address of an array's first element."""
    try:
        address: int = int(cast(ADDRESS, from_buffer(array)))
    except (ValueError, BufferError):  # not contiguous, or a dtype without a buffer format
        address = array.__array_interface__["data"][0]
    return address
