"""Finch: a compiler for sparse and structured tensors.

Write plain loops over tensors; they are specialised to how each tensor is stored, and run as C.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finch_core.errors import (
        BackendError,
        DimensionMismatch,
        FinchError,
        FormatError,
        IndexOverflow,
        KernelSyntaxError,
        LifecycleError,
        OutOfBounds,
        OutOfMemory,
        PerformanceWarning,
        PluginError,
        RaceError,
    )
    from finch_core.frontend.functions import (
        _,
        choose,
        follow,
        freeze,
        gallop,
        ifelse,
        maxby,
        minby,
        parallel,
        stored,
        swap,
        thaw,
        walk,
    )
    from finch_core.io.files import read, write
    from finch_core.ir.missing import coalesce, missing
    from finch_core.runtime.convert import asarray
    from finch_core.runtime.kernel import kernel
    from finch_core.runtime.tensor import Tensor
    from finch_core.runtime.threads import set_threads

_HOMES = {
    "finch_core.runtime.convert": ("asarray",),
    "finch_core.errors": (
        "BackendError", "DimensionMismatch", "FinchError", "FormatError", "IndexOverflow",
        "KernelSyntaxError", "LifecycleError", "OutOfBounds", "OutOfMemory", "PerformanceWarning",
        "PluginError", "RaceError",
    ),
    "finch_core.io.files": ("read", "write"),
    "finch_core.frontend.functions": (
        "_", "choose", "follow", "freeze", "gallop", "ifelse", "maxby", "minby", "parallel",
        "stored", "swap", "thaw", "walk",
    ),
    "finch_core.runtime.kernel": ("kernel",),
    "finch_core.ir.missing": ("coalesce", "missing"),
    "finch_core.runtime.tensor": ("Tensor",),
    "finch_core.runtime.threads": ("set_threads",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BackendError",
    "DimensionMismatch",
    "FinchError",
    "FormatError",
    "IndexOverflow",
    "KernelSyntaxError",
    "LifecycleError",
    "OutOfBounds",
    "OutOfMemory",
    "PerformanceWarning",
    "PluginError",
    "RaceError",
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
    "parallel",
    "read",
    "set_threads",
    "stored",
    "swap",
    "thaw",
    "walk",
    "write",
]


class _Moved:
    """Asks for a module that is not there under a name of before (``interface.moved``)."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith("finch_core."):
            return None
        from finch_core.interface.moved import MovedFinder

        return MovedFinder.find_spec(name, path, target)


sys.meta_path.append(_Moved)


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used."""
    home = _HOME_OF.get(name)
    if home is None:
        text = f"module 'finch_core' has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names and modules that are imported, without what this module itself imports."""
    kept = (n for n in globals() if n.startswith("__") or f"{__name__}.{n}" in sys.modules)
    return sorted({*kept, *__all__})
