"""Libraries that are imported where they are used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
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


@contextmanager
def malformed(path: Path, kind: str) -> Iterator[None]:
    """Whatever a library says of the content of a file becomes a ``FormatError`` that names the
    file, which is not ``kind``: "a binsparse file"."""
    try:
        yield
    except (MemoryError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # of pyarrow, h5py, zarr, zipfile and json: anything
        told = error.message if isinstance(error, FormatError) else str(error)
        raise FormatError(f"{path.name} is not {kind}: {told}") from error
