"""The plugin by which tensors find the array functions of this package."""

from __future__ import annotations

import importlib
from typing import Any

from finch_core.interface.array_namespace import ArrayNamespace
from finch_core.plugins import hookimpl


def _load() -> Any:
    return importlib.import_module("finch_array.methods")


@hookimpl
def finch_array_namespace() -> ArrayNamespace:
    """Register the namespace, which is imported at its first use."""
    return ArrayNamespace("finch_array", _load)
