"""The format of a NumPy array."""

from __future__ import annotations

from typing import Any

from finch_core.interface.level import Format
from finch_core.interface.plugins import hub


def dense_format(ndim: int, fill: Any, dtype: Any = None) -> Format:
    """The format of a NumPy array: ``ndim`` dense levels over values of ``dtype`` (default: the
    dtype of ``fill``), with the fill value ``fill``."""
    format: Format = hub().layout("values")(fill, dtype)
    for _ in range(ndim):
        format = hub().layout("dense")(format)
    return format


__all__ = ["dense_format"]
