"""Reading and writing tensors in files; ``Coordinates`` and ``content_of`` are what plugins with
file formats use (``docs/write-a-file-format.md``)."""

from __future__ import annotations

from typing import Any

__all__ = ["Coordinates", "FileFormat", "content_of"]

_HOMES = {
    "Coordinates": "finch_core.io.file_contents",
    "FileFormat": "finch_core.interface.file_formats",
    "content_of": "finch_core.io.file_contents",
}


def __getattr__(name: str) -> Any:
    # loaded at first use: no kernel needs files
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
