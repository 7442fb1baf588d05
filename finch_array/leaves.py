"""Levels over another leaf: formats and makers of results that keep a structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from finch_array import structures
from finch_core.errors import PluginError
from finch_core.interface.level import Format
from finch_core.interface.plugin_calls import described
from finch_core.interface.storage import field_of_values
from finch_core.ir.expressions import alike
from finch_core.ir.operators import cast_value
from finch_core.records import evolve, replacing
from finch_core.runtime.convert import copy_stored
from finch_core.runtime.lists import positions_of_lists
from finch_core.runtime.over_buffers import maker_over
from finch_core.runtime.tensor import Tensor
from finch_levels import Element


def same(one: Any, other: Any) -> Any:
    """Whether elements are equal or both NaN."""
    return (one == other) | ((one != one) & (other != other))


def differs(values: Any, fill: Any) -> Any:
    """Whether elements are not the fill; NaN is the fill NaN."""
    return values != fill if fill == fill else values == values


_leaves: dict[Any, Format] = {}


def with_leaf(format: Format, fill: Any, dtype: np.dtype[Any]) -> Format:
    """``format`` with a leaf of this fill and dtype."""
    key = (format, fill.tobytes(), dtype)
    found = _leaves.get(key)
    if found is None:
        if len(_leaves) >= MOST:
            _leaves.clear()
        found = _leaves[key] = _with_leaf(format, structures.leaf_for(fill, dtype))
    return found


def _with_leaf(format: Any, leaf: Format) -> Format:
    if format.child is None:
        return leaf
    found: Format = evolve(format, lvl=_with_leaf(format.child, leaf))
    return found


_makers: dict[Any, Callable[[Any, list[Any]], Any]] = {}
_once: set[Any] = set()
"""The formats and fills of which one tensor was made."""


def maker(
    format: Format, fill: Any, dtype: np.dtype[Any]
) -> Callable[[Any, list[Any]], Any]:  # fmt: skip
    """A function that makes tensors of ``format`` with a leaf of this fill and dtype, with the
    dimensions and scalars of a record of that format, over arrays of its dtypes."""
    key = (id(format), fill.tobytes(), dtype)
    found = _makers.get(key)
    if found is None:
        if len(_makers) >= MOST_FILLS:
            _makers.clear()
        like, above = _like(format, fill, dtype)
        found = _makers[key] = maker_over(_levels(above, fill)[0], Tensor, like)
    return found


def bare(format: Format, fill: Any, dtype: np.dtype[Any]) -> Any:
    """One tensor of ``format`` with a leaf of this fill and dtype, most likely the only one: it is
    not remembered how it was made."""
    like, above = _like(format, fill, dtype)
    return Tensor.alike(_levels(above, fill), like)


def _like(format: Format, fill: Any, dtype: np.dtype[Any]) -> tuple[Format, Sequence[Above]]:
    """``format`` with a leaf of some fill, and this dtype; and its levels, innermost first."""
    found = _likes.get((id(format), dtype))
    if found is None:
        if len(_likes) >= MOST:
            for table in (_makers, _once, _likes, _kept):
                table.clear()
        like = with_leaf(format, fill, dtype)
        *above, leaf = like.levels()
        _check_fields(format.levels(), above)
        plain = isinstance(leaf, Element) and dtype.kind in "biufc"
        filled = replacing(Element, "fill") if plain else partial(_checked_leaf, dtype)
        first: Above = filled, leaf
        others = [(_replacing_child(level), level) for level in reversed(above)]
        found = _likes[id(format), dtype] = like, (first, *others)
        _kept.append(format)  # so that its id stays its own
    return found


def _check_fields(levels: Sequence[Format], others: Sequence[Format]) -> None:
    """Raise ``PluginError`` for a level that passes values, and has a field of their dtype: its
    buffer is not one of another dtype."""
    for level, other in zip(levels, others, strict=False):
        name = field_of_values(level, other) if level.passes_values else None
        if name is not None:
            raise PluginError(
                f"{described(level)} passes values, and its field {name!r} has their dtype",
                hint="passes_values is True where no field depends on values",
            )


def _replacing_child(level: Any) -> Callable[..., Format]:
    return replacing(level.__class__, "lvl")


def _checked_leaf(dtype: np.dtype[Any], _: Format, fill: Any) -> Format:
    return structures.leaf_for(fill, dtype)


def _levels(like: Sequence[Above], fill: Any) -> tuple[Format, ...]:
    """The levels, outermost first, of a format that differs from ``like`` in nothing but the fill,
    on which no level depends."""
    levels = []
    found = fill
    for replace, level in like:
        found = replace(level, found)
        levels.append(found)
    levels.reverse()
    return tuple(levels)


Above = tuple[Callable[..., Format], Format]
"""A level, and what gives it over another: a leaf with another fill."""
_likes: dict[Any, tuple[Format, Sequence[Above]]] = {}
"""A format, of those with some fill, for each format and dtype of a result."""
_kept: list[Format] = []
MOST_FILLS = 256
"""The most formats and fills of such results."""
MOST = 4096
"""The most formats of results of functions of one array that are remembered."""


def stored_values(tensor: Tensor) -> Any:
    """The values of all elements that are stored, the tensor's own memory; None where elements
    are computed, or not stored as values."""
    number = tensor.layout.values
    if number is None:
        return None
    count = positions_of_lists(tensor)
    return tensor.arrays_in_use()[number] if count is None else tensor.arrays[number][:count]


def dense_fill(dtype: np.dtype[Any]) -> Any:
    """The fill of dense results of dense arrays, whose elements all are stored: one for all of a
    dtype, so that what is computed of them needs no kernel of its own for each number that was
    added to them."""
    return cast_value(0, dtype)


def relabelled(tensor: Tensor, fill: Any) -> Tensor:
    """The stored values of a tensor with another fill, over the same memory where they are values
    of its leaf."""
    if alike(tensor.fill_value, fill):
        return tensor
    format, dtype = tensor.format, tensor.dtype
    if tensor.layout.values is None:
        copy: Tensor = bare(format, fill, dtype)
        copy_stored(copy, tensor)
        return copy
    key = (id(format), fill.tobytes(), dtype)
    again = key in _makers or key in _once
    if again:
        return maker(format, fill, dtype)(tensor.record, list(tensor.arrays))  # type: ignore[no-any-return]
    if len(_once) >= MOST_FILLS:
        _once.clear()
    _once.add(key)
    made: Tensor = bare(format, fill, dtype)
    made.adopt(tensor.record, tensor.arrays)
    return made


__all__ = [
    "bare",
    "dense_fill",
    "differs",
    "maker",
    "relabelled",
    "same",
    "stored_values",
    "with_leaf",
]
