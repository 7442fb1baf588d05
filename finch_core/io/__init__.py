"""Reading and writing tensors in files; ``Coordinates`` and ``content_of`` are what plugins with
file formats use (``docs/write-a-file-format.md``)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finch_core.interface.file_formats import FileFormat
    from finch_core.io.file_contents import Coordinates, content_of

__all__ = ["Coordinates", "FileFormat", "content_of"]

_HOMES = {
    "Coordinates": "finch_core.io.file_contents",
    "FileFormat": "finch_core.interface.file_formats",
    "content_of": "finch_core.io.file_contents",
}


def __getattr__(name: str) -> Any:
    # loaded at first use: no kernel needs files
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
