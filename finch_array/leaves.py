"""Levels over another leaf: formats and makers of results that keep a structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_array import structures
from finch_core.interface.level import Format
from finch_core.ir.expressions import alike
from finch_core.records import evolve
from finch_core.runtime.tensor import Tensor

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


_makers: dict[Any, Callable[[], Any]] = {}


def maker(format: Format, fill: Any, dtype: np.dtype[Any]) -> Callable[[], Any]:
    """A function that makes tensors of ``format`` with a leaf of this fill and dtype."""
    key = (id(format), fill.tobytes(), dtype)
    found = _makers.get(key)
    if found is None:
        if len(_makers) >= MOST_FILLS:
            _makers.clear()
        if len(_likes) >= MOST:
            for table in (_makers, _likes, _kept):
                table.clear()
        like = _likes.get((id(format), dtype))
        if like is None:
            like = _likes[id(format), dtype] = with_leaf(format, fill, dtype)
            _kept.append(format)  # so that its id stays its own
            found = Tensor.maker(like)
        else:
            found = Tensor.maker(_with_leaf(format, structures.leaf_for(fill, dtype)), like)
        _makers[key] = found
    return found


_likes: dict[Any, Format] = {}
"""A format, of those with some fill, for each format and dtype of a result."""
_kept: list[Format] = []
MOST_FILLS = 256
"""The most formats and fills of such results."""
MOST = 4096
"""The most formats of results of functions of one array that are remembered."""


def relabelled(tensor: Tensor, fill: Any) -> Tensor:
    """The stored values of a tensor with another fill, over the same memory."""
    if alike(tensor.fill_value, fill):
        return tensor
    return Tensor.of_parts(
        with_leaf(tensor.format, fill, tensor.dtype), tensor.record, tensor.arrays
    )


__all__ = ["maker", "relabelled", "with_leaf"]
