"""Libraries that are imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from finch_core.errors import FormatError


def library(name: str, extra: str) -> Any:
    """The module of this name. Raises ``FormatError`` with the command that installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        raise FormatError(
            f"{package} is not installed", hint=f'python -m pip install "finch-python[{extra}]"'
        ) from None
