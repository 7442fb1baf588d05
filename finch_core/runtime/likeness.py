"""Tensors that store the same elements as another, with other values: ``A.like(value, dtype)``."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.ir.dtypes import type_of
from finch_core.ir.operators import exact_value
from finch_core.locks import imported
from finch_core.records import evolve
from finch_core.runtime.storage import TensorStorage

Storage = TypeVar("Storage", bound=TensorStorage)


def like(source: Storage, value: Any = None, dtype: Any = None) -> tuple[Storage, Any]:
    """A tensor that stores what ``source`` stores, and the value to set that to; None if it has
    that value. See ``Tensor.like``."""
    format = _with_leaf(source.format, _leaf(source.format, value, dtype))
    wanted = format.fill_value if value is None else _held(value, format.dtype)
    made = type(source).bare(format)
    if not _is_copied(source.format):
        copy_stored = imported("finch_core.runtime.convert").copy_stored  # which imports this
        copy_stored(made, source, wanted)  # passed, so that the fill is stored, too
        return made, None
    made.record[: source.ndim] = source.shape
    positions = 1
    for k, (level, above, _sizes, _below) in enumerate(source.levels()):
        positions = above
        if not level.is_leaf:
            _copy_level(source, made, k)
    leaf = format.levels()[-1]
    found = leaf.blank(positions, 0)
    fields = {} if found is None else found[0]
    for part in (*made.layout.scalars, *made.layout.buffers):
        if part.level == source.ndim and part.field.name in fields:
            set_ = made.set_array if part.field.is_buffer else made.set_scalar
            set_(part, fields[part.field.name])
    made.note_memory()
    return made, None if found is not None and _is(wanted, format) else wanted


def _leaf(format: Format, value: Any, dtype: Any) -> Format:
    """The leaf for values of ``dtype``: that of ``format``, if it can hold ``value``."""
    leaf = format.levels()[-1]
    if not leaf.holds_fill and value is not None and dtype is None and type_of(value) is not bool:
        dtype = np.result_type(value)
    if dtype is None or np.dtype(dtype) == leaf.dtype:
        return leaf
    try:
        fill = exact_value(leaf.fill_value, np.dtype(dtype))
    except (TypeError, ValueError) as error:
        raise FormatError(
            f"the fill value {leaf.fill_value} is not a value of {np.dtype(dtype)}: {error}",
            hint="give another dtype",
        ) from None
    made: Format = hub().layout("values")(fill, np.dtype(dtype))
    return made


def _held(value: Any, dtype: np.dtype[Any]) -> Any:
    try:
        return exact_value(value, dtype)
    except (TypeError, ValueError) as error:
        raise FormatError(
            f"{value!r} is not a value of {dtype}: {error}",
            hint="give the dtype too, as in A.like(0.5, dtype=np.float64)",
        ) from None


def _with_leaf(format: Any, leaf: Format) -> Format:
    """``format`` with another leaf."""
    if format.is_leaf:
        return leaf
    made: Format = evolve(format, lvl=_with_leaf(format.child, leaf))
    return made


def _is_copied(format: Format) -> bool:
    """Whether the buffers of the levels say what is stored, whatever the values are."""
    *levels, leaf = format.levels()
    passed = all(level.passes_values for level in levels)
    return passed and type(leaf).is_stored is Format.is_stored


def _copy_level(source: TensorStorage, made: TensorStorage, k: int) -> None:
    """Copy the scalars and buffers of a level, as far as they are in use."""
    buffers = source.named_arrays()
    for part in made.layout.scalars:
        if part.level == k and not (part.field.private or part.field.scratch):
            made.set_scalar(part, source.fields(k)[part.field.name])
    for part in made.layout.buffers:
        name = f"{k}_{part.field.name}"
        if part.level == k and name in buffers:
            made.set_array(part, buffers[name].copy())


def _is(value: Any, format: Format) -> bool:
    """Whether ``value`` is the fill value of ``format``, bit by bit."""
    fill = np.asarray(format.fill_value, format.dtype)
    return np.asarray(value, format.dtype).tobytes() == fill.tobytes()


__all__ = ["like"]
