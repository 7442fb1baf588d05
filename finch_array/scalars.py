"""Tensors without dimensions, which hold one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_array.leaves import with_leaf
from finch_array.structures import leaf_for
from finch_core.interface.plugins import when_plugins_change
from finch_core.runtime.over_buffers import maker_of_fields
from finch_core.runtime.tensor import Tensor

MOST = 256
"""The most dtypes and fills that are remembered."""


def scalar_tensor(value: Any, fill: Any = None) -> Tensor:
    """A tensor without dimensions that holds one value."""
    values = np.array(value, ndmin=1)
    dtype = values.dtype
    key = dtype, None if fill is None else np.asarray(fill, dtype).tobytes()
    make = _makers.get(key)
    if make is None:
        own = np.zeros((), dtype)[()] if fill is None else np.asarray(fill, dtype)[()]
        if len(_makers) >= MOST:
            _makers.clear()
        make = _makers[key] = maker_of_fields(with_leaf(_LEAF, own, dtype), Tensor)
    return make((), [{"val": values}])


_makers: dict[Any, Callable[..., Tensor]] = {}
when_plugins_change(_makers.clear)
_LEAF = leaf_for(0.0, None)

__all__ = ["scalar_tensor"]
