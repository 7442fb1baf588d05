"""Dimensions of size 1, which a dense level stores without a word of memory: they come and go with
their levels, and all else that an array stores stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from finch_array.operands import MOST, stored
from finch_array.run import as_seen
from finch_core.errors import FormatError
from finch_core.interface.layout import Part
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.interface.storage import Field
from finch_core.records import evolve
from finch_core.runtime.lists import arrays_in_use
from finch_core.runtime.over_buffers import maker_of_fields
from finch_core.runtime.tensor import Tensor

_Made = tuple[Callable[..., Any], Sequence[Sequence[tuple[str, Part | None, Field]]]]
"""What makes the result, and for each field of its levels the part of the array that it copies, if
any."""


def with_units(array: Any, wanted: Sequence[int]) -> Any:
    """``array`` in another shape that differs in dimensions of size 1 alone, with a copy of what
    it stores; None where a level that is not dense would have to go, or would be torn apart."""
    found = stored(array)
    source = found.source
    if source.__class__ is not Tensor or not wanted or not array.ndim:
        return None
    axes = found.axes
    straight = axes == tuple(range(len(axes)))
    if straight:
        shape, own = tuple(wanted), axes
    else:  # new dimensions are stored outermost, the others in the order in which they are
        kept = [k for k, n in enumerate(wanted) if n != 1]
        places = dict(zip([k for k, n in enumerate(array.shape) if n != 1], kept, strict=True))
        rest = [places[axis] for axis in axes if axis in places]
        own = (*[k for k, n in enumerate(wanted) if n == 1], *rest)
        shape = tuple([wanted[k] for k in own])
    ones = tuple([n == 1 for n in source.shape])
    key = (source.signature, ones, tuple([n == 1 for n in shape]), hub().generation)
    if key not in _made:
        if len(_made) >= MOST:
            _made.clear()
        _made[key] = _plan(source, key[2])
    plan = _made[key]
    if plan is None:
        return None
    make, levels = plan
    arrays = arrays_in_use(source)
    fields = [contents_of(source, arrays, level, copied=True) for level in levels]
    return as_seen(make(shape, fields), own)


def contents_of(
    tensor: Tensor, arrays: Any, own: Sequence[tuple[str, Part | None, Field]], copied: bool
) -> dict[str, Any]:
    """What a level holds, by name, for fields that are each a part of a tensor whose ``arrays`` are
    these, copied or not; what it begins with where there is none, as for scratch, and for what
    describes memory that is not in use."""
    contents: dict[str, Any] = {}
    for name, part, field in own:
        if part is None:
            contents[name] = np.empty(0, field.dtype) if field.is_buffer else field.init
        elif field.private:
            contents[name] = field.init
        elif field.is_buffer:
            contents[name] = arrays[part.number].copy() if copied else arrays[part.number]
        else:
            contents[name] = tensor.scalar(part)
    return contents


_made: dict[Any, _Made | None] = {}


def _plan(source: Tensor, wanted: Sequence[bool]) -> _Made | None:
    """How the result is made of an array in the format of ``source``, where all dimensions that are
    ``wanted`` have size 1; None where it cannot be."""
    *levels, leaf = source.format.levels()
    chosen: list[int | None] = []
    pairs = zip(_groups([n == 1 for n in source.shape]), _groups(wanted), strict=True)
    for (units, dim), (others, _) in pairs:
        kept = [k for k in units if levels[k].layout != "dense"]
        new = len(others) - len(kept)
        after = kept[0] if kept else dim
        if new < 0 or (new and (_torn(levels, after) or not _pass(levels[:after]))):
            return None
        chosen += [None] * new + kept + ([] if dim is None else [dim])
    made: Any = leaf
    dense = hub().layout("dense")
    try:
        for k in reversed(chosen):
            made = dense(made) if k is None else evolve(levels[k], lvl=made)  # type: ignore[misc]
    except FormatError:  # a level that takes no dense ones below it
        return None
    copied = []
    for k, level in zip((*chosen, len(levels)), made.levels(), strict=True):
        parts = {} if k is None else source.layout.fields[k]
        own = [(f.name, None if f.scratch else parts.get(f.name), f) for f in level.fields]
        if any(part is None and not field.scratch for _, part, field in own):
            return None
        copied.append(own)
    return maker_of_fields(made, Tensor), copied


def _groups(ones: Sequence[bool]) -> list[tuple[list[int], int | None]]:
    """The dimensions of size 1 before each other one, and that; at last those after all."""
    found: list[tuple[list[int], int | None]] = []
    units: list[int] = []
    for k, one in enumerate(ones):
        if one:
            units.append(k)
        else:
            found.append((units, k))
            units = []
    return [*found, (units, None)]


def _pass(levels: Sequence[Format]) -> bool:
    """Whether levels take another one below them: they do not look at its elements."""
    return all(level.passes_values for level in levels)


def _torn(levels: Sequence[Format], after: int | None) -> bool:
    """Whether a level before that of this place (None: below all) would come between two that share
    their entries."""
    if not after:
        return False
    return bool(levels[after - 1].structure.joined and levels[after].structure.joined)


__all__ = ["contents_of", "with_units"]
