"""Finch: a compiler for sparse and structured tensors.

Write plain loops over tensors; they are specialised to how each tensor is stored, and run as C.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finch_core.convert import asarray
    from finch_core.errors import (
        BackendError,
        DimensionMismatch,
        FinchError,
        FormatError,
        KernelSyntaxError,
        LifecycleError,
        PerformanceWarning,
        PluginError,
    )
    from finch_core.files import read, write
    from finch_core.functions import (
        _,
        choose,
        follow,
        freeze,
        gallop,
        ifelse,
        maxby,
        minby,
        thaw,
        walk,
    )
    from finch_core.kernels import kernel
    from finch_core.missing_value import coalesce, missing
    from finch_core.tensor import Tensor

_HOMES = {
    "finch_core.convert": ("asarray",),
    "finch_core.errors": (
        "BackendError", "DimensionMismatch", "FinchError", "FormatError", "KernelSyntaxError",
        "LifecycleError", "PerformanceWarning", "PluginError",
    ),
    "finch_core.files": ("read", "write"),
    "finch_core.functions": (
        "_", "choose", "follow", "freeze", "gallop", "ifelse", "maxby", "minby", "thaw", "walk",
    ),
    "finch_core.kernels": ("kernel",),
    "finch_core.missing_value": ("coalesce", "missing"),
    "finch_core.tensor": ("Tensor",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BackendError",
    "DimensionMismatch",
    "FinchError",
    "FormatError",
    "KernelSyntaxError",
    "LifecycleError",
    "PerformanceWarning",
    "PluginError",
    "Tensor",
    "_",
    "asarray",
    "choose",
    "coalesce",
    "follow",
    "freeze",
    "gallop",
    "ifelse",
    "kernel",
    "maxby",
    "minby",
    "missing",
    "read",
    "thaw",
    "walk",
    "write",
]


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'finch_core' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value
