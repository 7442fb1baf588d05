"""Tensors made over their buffers in one step: one that is made empty, and then takes buffers,
takes twice as long, which is longer than a small kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from finch_core.interface.level import Format
from finch_core.runtime.storage import TensorStorage
from finch_core.runtime.tensor_records import (
    ADDRESS,
    Unset,
    address_of,
    cast,
    from_buffer,
    unset,
)

Stored = TypeVar("Stored", bound=TensorStorage)


def over(
    kind: type[Stored], format: Format, made: Unset, words: list[int], arrays: list[Any]
) -> Stored:
    """A tensor of class ``kind`` over ``arrays``, by the numbers of their parts, of the dtypes of
    ``format``, of which ``made`` is known. ``words`` are a record of it but for those of the
    buffers, which are set here."""
    spans = []
    for number, offset, plain in made.places:
        array = arrays[number]
        start = int(cast(ADDRESS, from_buffer(array))) if plain else address_of(array)
        words[offset] = start
        words[offset + 1] = array.size
        if array.size:
            spans.append((start, start + array.nbytes))
    self = kind.__new__(kind)
    self.format, self.signature, self.layout = format, made.signature, made.layout
    self.record = record = np.array(words, np.uint64)
    self.address = address = int(cast(ADDRESS, from_buffer(record)))
    self.arrays = arrays
    self.memory = tuple(spans) or ((address, address + made.nbytes),)
    self.state = object()
    return self


def copy_of(tensor: Stored) -> Stored:
    """A tensor of the format and values of another, with memory of its own."""
    arrays = [array.copy() for array in tensor.arrays]
    format = tensor.format
    return over(tensor.__class__, format, unset(format), tensor.record.tolist(), arrays)


def maker_over(
    format: Format, kind: type[Stored], like: Format | None = None
) -> Callable[[Any, list[Any]], Stored]:
    """A function that makes tensors of class ``kind`` with the dimensions and scalars of a record
    of ``format``, over contiguous arrays of its dtypes; ``like`` is a known format that differs in
    nothing but the fill."""
    made = unset(format) if like is None else unset(like).alike(format)

    def make(record: Any, arrays: list[Any]) -> Stored:
        return over(kind, format, made, record.tolist(), arrays)

    return make


def maker_of_fields(
    format: Format, kind: type[Stored]
) -> Callable[[Sequence[int], list[dict[str, Any]]], Stored]:
    """A function that makes tensors of class ``kind`` of a shape, whose fields the levels are
    given, as by ``TensorStorage.set_fields``, whose errors it has."""
    made = unset(format)
    layout, bare = made.layout, kind.maker(format)
    given = [(part.level, part.field.name, part.field.dtype) for part in layout.buffers]
    rest = [0] * (layout.words - layout.ndim)
    in_turn = [part.number for part in layout.buffers] == list(range(len(given)))
    simple = in_turn and not layout.scalars

    def make(shape: Sequence[int], fields: list[dict[str, Any]]) -> Stored:
        if simple:
            arrays = []
            for level, name, dtype in given:
                array = fields[level].get(name)
                if array.__class__ is not np.ndarray or array.dtype is not dtype:
                    break
                arrays.append(array)
            else:
                layout.require_lengths(shape)
                return over(kind, format, made, [*shape, *rest], arrays)
        tensor: Stored = bare()
        tensor.set_fields(tuple(shape), fields)
        return tensor

    return make


__all__ = ["copy_of", "maker_of_fields", "maker_over", "over"]
