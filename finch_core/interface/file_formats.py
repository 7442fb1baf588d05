"""File formats: how tensors are read from files, and written to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from finch_core.records import frozen

if TYPE_CHECKING:
    from pathlib import Path


@frozen
class FileFormat:
    """A format of files that ``read`` and ``write`` know, by the ending of the path or by content.

    ``endings`` are those of its files, such as ``(".mtx", ".mtx.gz")``: of all formats, the one
    with the longest ending of a path has it, and one format alone may have an ending. ``starts``
    are bytes that its files begin with, by which a file of an unknown ending is recognised.

    ``load(path)`` gives the content of a file: coordinates, an array, or anything else that
    ``asarray`` takes; None if these files cannot be read. ``save(tensor, path)`` writes a tensor to
    ``path``, an empty file of its own that then takes the place of the one that the user named;
    None if these files cannot be written. (``Coordinates``, and ``content_of``, which gives the
    entries of a tensor, are in ``finch_core.io``.)
    Both raise ``FormatError`` for what is malformed or cannot be held. Where its files are
    ``folders``, ``save`` makes one, at a path where there is nothing.
    """

    name: str
    endings: tuple[str, ...]
    load: Callable[[Path], Any] | None = None
    save: Callable[[Any, Path], None] | None = None
    starts: tuple[bytes, ...] = ()
    folders: bool = False

    @property
    def objection(self) -> str:
        """Why this is no file format; else an empty text."""
        endings: Any = self.endings  # of a plugin: anything
        starts: Any = self.starts
        if isinstance(endings, str) or not endings:
            return f"has endings = {self.endings!r}: a tuple of texts, such as ('.mtx',)"
        wrong = [e for e in endings if not (isinstance(e, str) and e.startswith("."))]
        if wrong:
            return f"has the ending {wrong[0]!r}: an ending begins with a point, as '.mtx'"
        if isinstance(starts, bytes) or not all(isinstance(s, bytes) for s in starts):
            return f"has starts = {self.starts!r}: a tuple of bytes"
        if self.load is None and self.save is None:
            return "has neither load nor save"
        return ""


__all__ = ["FileFormat"]
