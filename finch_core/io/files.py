"""``read`` and ``write``: tensors in files, in the format that the ending of the path names.

The formats are plugins (``finch_core/interface/file_formats.py``). Built in are, as text, Matrix
Market (``.mtx``, ``.ttx``) and FROSTT's coordinates (``.tns``), optionally gzipped (``.mtx.gz``),
and NumPy's ``.npy`` and ``.npz``. A matrix of coordinates is read as
``Dense(SparseList(Element))``, or with both levels sparse if most rows are empty; other coordinates
with all levels sparse; an array with dense levels. Stored zeros are kept.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from finch_core.errors import FinchError, FormatError, PluginError, quote
from finch_core.interface.dense_format import dense_format
from finch_core.interface.file_formats import FileFormat
from finch_core.interface.plugin_checks import describe
from finch_core.interface.plugins import hub
from finch_core.io.file_contents import Coordinates, content_objection
from finch_core.io.progress import asked
from finch_core.runtime.compressed import coordinate_format
from finch_core.runtime.convert import asarray, from_coordinates
from finch_core.runtime.tensor import Tensor

PathLike = str | os.PathLike[str]

FEW_ROWS = 1 << 20
"""A matrix with at most this many rows is read with a dense outer level."""

ROWS_PER_VALUE = 16
"""A larger matrix is read with a sparse outer level if it has more rows per value than this."""


def read(path: PathLike, format: str = "", *, progress: bool = False) -> Tensor:
    """Read a tensor from a file.

    ``format`` names a file format (``python -m finch_core plugins`` lists them); without it, the
    ending of ``path`` does, or else the first bytes of the file. Built in are ``.mtx``, ``.ttx``,
    ``.tns`` (also with ``.gz``), ``.npy`` and ``.npz``. Shape and dtype are the file's; values of
    text files are float64, int64 or complex128, by the header (``.tns``: float64). Indices are
    counted from 0. ``progress``: on a terminal, a bar shows how much of a text file has been read,
    if that takes more than two seconds (tqdm draws it, an extra: ``finch-python[progress]``).

    Raises ``FormatError``, with the line at fault, for a malformed file or an unknown ending,
    ``OSError`` if the file cannot be opened, and ``PluginError`` for a plugin that fails.
    """
    with asked(progress):
        content = [parse(path, format)]
    try:
        return tensor_of(content.pop())  # whose memory makes room
    except FormatError as error:
        error.message = f"{Path(path).name}: {error.message}"
        raise


def parse(path: PathLike, format: str = "") -> Any:
    """The content of a file: coordinates, an array, or what else the file format gives, of which
    ``asarray`` makes a tensor; raises as ``read`` does."""
    path = Path(path)
    found = _chosen(path, format, "load")
    assert found.load is not None
    content = _called(found, "load", found.load, path)
    wrong = content_objection(content)
    if wrong:
        owner = hub().owner("file format", found.name)
        raise PluginError(
            f"load of the file format {found.name!r} of {owner} gives {wrong}",
            hint="it returns Coordinates, with an array of indices for each dimension and one of "
            "as many values, or an array, or a tensor",
        )
    return content


def write(path: PathLike, tensor: Any, format: str = "") -> None:
    """Write ``tensor``, or anything that ``asarray`` takes, to a file.

    ``format`` names a file format; without it, the ending of ``path`` does. ``.mtx`` takes
    matrices, ``.ttx`` and ``.tns`` tensors with at least one dimension (these three with the fill
    value 0, optionally with ``.gz``; a ``.tns`` whose entries do not tell the shape begins with a
    comment that does, ``# shape: 2 3``), ``.npy`` a dense array of the values, and ``.npz`` the
    coordinates and the fill value, which ``scipy.sparse.load_npz`` reads if that is 0, or the array
    if all elements are stored. A file of that name is replaced when the new one is complete.

    Raises ``FormatError`` for an unknown ending or a tensor that the file format cannot hold,
    ``OSError`` if the file cannot be written, and ``PluginError`` for a plugin that fails.
    """
    path = Path(path)
    found, given = _chosen(path, format, "save"), asarray(tensor)
    assert found.save is not None
    save = partial(_saved, found, given)
    if found.folders:
        _replace_folder(path, found.endings, save)
    else:
        _replace(path, save)


def tensor_of(content: Any) -> Tensor:
    """A tensor of the content of a file, in the format that the module's docstring describes."""
    if isinstance(content, Coordinates):
        found = [content]
        del content
        return _sparse_tensor(found.pop())
    if type(content) is not np.ndarray:
        made: Tensor = asarray(content)
        return made
    fill = np.zeros((), content.dtype)[()]
    return Tensor(dense_format(content.ndim, fill), content)


def _sparse_tensor(content: Coordinates) -> Tensor:
    fill, ndim = np.asarray(content.fill, content.values.dtype)[()], len(content.shape)
    rows = ndim == 2 and content.shape[0] <= max(FEW_ROWS, ROWS_PER_VALUE * len(content.values))
    fmt = coordinate_format(1 if rows else ndim, fill)
    if rows:
        fmt = hub().layout("dense")(fmt)
    shape, parts = content.shape, [*content.coords, content.values]
    del content  # from_coordinates alone has the arrays: it uses their memory again
    return from_coordinates(fmt, shape, parts, parts.pop(), owned=True)


# -- the file format ------------------------------------------------------------------------


def _chosen(path: Path, name: str, ability: str) -> FileFormat:
    """The file format that is named, or that the path's ending or the file's first bytes tell."""
    known = hub().file_formats
    if name:
        found: FileFormat | None = known.get(name)
        if found is None:
            raise FormatError(f"there is no file format {name!r}", hint=f"there are {quote(known)}")
    else:
        found = _by_ending(path) or (_by_content(path) if ability == "load" else None)
    if found is None:
        endings = [ending for format in known.values() for ending in format.endings]
        raise FormatError(
            f"the ending of {path.name!r} is not that of a known file format",
            hint=f"endings are {quote(endings)}",
        )
    if getattr(found, ability) is None:
        what = "read" if ability == "load" else "written"
        raise FormatError(f"files of the format {found.name!r} cannot be {what}")
    return found


def _by_ending(path: Path) -> FileFormat | None:
    """The format with the longest ending of this path."""
    claims = [
        (len(ending), format)
        for format in hub().file_formats.values()
        for ending in format.endings
        if path.name.endswith(ending)
    ]
    return max(claims, key=lambda claim: claim[0])[1] if claims else None


def _by_content(path: Path) -> FileFormat | None:
    """The format whose files begin as this one does; None also for what is no regular file."""
    known = [f for f in hub().file_formats.values() if f.starts]
    if not path.is_file():
        return None
    with path.open("rb") as file:
        start = file.read(max((len(s) for f in known for s in f.starts), default=0))
    return next((f for f in known if start.startswith(f.starts)), None)


def _saved(format: FileFormat, tensor: Any, path: Path) -> None:
    """Write a file of this format; ``PluginError`` if there is none afterwards."""
    assert format.save is not None
    _called(format, "save", format.save, tensor, path)
    if not path.exists():
        owner = hub().owner("file format", format.name)
        raise PluginError(
            f"save of the file format {format.name!r} of {owner} leaves nothing at the path "
            "that it was given",
            hint="it writes to that path, which takes the place of the file",
        )


def _called(format: FileFormat, method: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a plugin's function; an exception that its signature does not promise names it."""
    try:
        return function(*args)
    except (FinchError, OSError, MemoryError):
        raise
    except Exception as error:
        owner = hub().owner("file format", format.name)
        raise PluginError(
            f"{method} of the file format {format.name!r} of {owner} failed: {describe(error)}",
            hint="for a malformed file or a tensor that files cannot hold, it raises FormatError",
        ) from error


# -- replacing a file -----------------------------------------------------------------------


def _replace(path: Path, save: Callable[[Path], None]) -> None:
    """Replace the content of a file atomically: readers see the old content or the new.

    ``save`` fills an empty file, whose name ends as ``path`` does: a writer may go by that.
    Symbolic links are followed, and the mode of an existing file is kept. What is not a regular
    file, such as a pipe, is written, not replaced.
    """
    ending, path = "".join(path.suffixes[-2:]), Path(os.path.realpath(path))
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        _write_through(path, ending, save)
        return
    aside = path.with_name(f".{secrets.token_hex(16)}.part{ending}")
    # O_EXCL: never write to a file that another process has put there
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    os.close(os.open(aside, flags, 0o666 if mode is None else 0o600))
    try:
        save(aside)
        if mode is not None:
            aside.chmod(stat.S_IMODE(mode))
        aside.replace(path)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise


def _replace_folder(path: Path, endings: tuple[str, ...], save: Callable[[Path], None]) -> None:
    """Replace a folder by the one that ``save`` makes. Raises ``FileExistsError`` for one whose
    name does not have an ending of the format: it may hold anything."""
    import shutil  # needed here only

    ending, path = "".join(path.suffixes[-2:]), Path(os.path.realpath(path))
    if path.exists() and not path.name.endswith(endings):
        raise FileExistsError(f"{path} exists, and its name does not end as {endings[0]}")
    aside, former = (path.with_name(f".{secrets.token_hex(16)}.part{ending}") for _ in range(2))
    try:
        save(aside)
        if path.exists():
            path.replace(former)
        aside.replace(path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        shutil.rmtree(former, ignore_errors=True)


def _write_through(path: Path, ending: str, save: Callable[[Path], None]) -> None:
    """Write what ``save`` puts into a file to what is no regular file, such as a pipe: a library
    may go back in the file that it writes."""
    import tempfile  # needed here only

    with tempfile.TemporaryDirectory() as folder:
        aside = Path(folder) / f"part{ending}"
        aside.touch()
        save(aside)
        path.write_bytes(aside.read_bytes())


__all__ = ["parse", "read", "tensor_of", "write"]
