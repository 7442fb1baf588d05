"""The plugin by which tensors and kernels find the pictures of this package."""

from __future__ import annotations

import importlib
from typing import Any

from finch_core.interface.display import Display
from finch_core.interface.plugins import hookimpl


def _load() -> Any:
    return importlib.import_module("finch_core.show.display")


@hookimpl
def finch_display() -> Display:
    """Register the display, which is imported at its first use."""
    return Display("finch_core.show", _load)
