"""The plugin by which tensors find the array functions of this package."""

from __future__ import annotations

import importlib
from typing import Any

from finch_core.interface.array_namespace import ArrayNamespace
from finch_core.interface.conversions import Conversion
from finch_core.plugins import hookimpl


def _load() -> Any:
    return importlib.import_module("finch_array.methods")


def _computed(x: Any) -> Any:
    return x.settle()


def _lazy(tensor: Any) -> Any:
    return importlib.import_module("finch_array").lazy(tensor)


@hookimpl
def finch_array_namespace() -> ArrayNamespace:
    """Register the namespace, which is imported at its first use."""
    return ArrayNamespace("finch_array", _load)


@hookimpl
def finch_conversion() -> Conversion:
    """Lazy arrays, which kernels compute and read."""
    return Conversion(
        "lazy", "", "lazy arrays", _computed, _lazy, types=("finch_array.plan.lazies.Lazy",)
    )
