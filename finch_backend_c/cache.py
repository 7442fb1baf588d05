"""Compiled kernels on disk, shared by processes.

An entry is two files: a library named by its contents, and ``<key>.txt``, lines that name the
library, say how to call it, and have the C text. Both are written aside and renamed into place, the
library first, so that an entry that can be read is whole; checksums are compared all the same. A
cache that cannot be used (read-only, full, or open to others) is done without. What was
not used for longest goes when the cache grows beyond ``MOST_BYTES``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from finch_core.records import frozen

FORMAT = "3"
"""Changes whenever an older entry must not be used: the text or the calling of kernels changed."""
MOST_BYTES = 1 << 29
"""The size beyond which the cache is trimmed, to half of it."""
_STORES_A_CHECK = 32
"""One store of so many looks at the size of the cache, by chance: most processes store few."""


@frozen
class Entry:
    """A compiled kernel: the library's path, its C text, the letters of its parameters, and a line
    of what the core notes of it."""

    library: Path
    source: str
    signature: str
    notes: str = ""


class Info(NamedTuple):
    """Where the cache is, how many files it holds, and their size in bytes."""

    path: Path | None
    files: int
    bytes: int


# -- the directory ----------------------------------------------------------------------------


def location() -> Path:
    """Where the cache would be: ``FINCH_CACHE_DIR``, else in the user's cache directory."""
    named = os.environ.get("FINCH_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base, "finch-python")


def directory() -> Path | None:
    """The cache's directory, made if need be; ``None`` where it cannot be trusted or used."""
    for found in (location, _spare):
        path = found()
        with contextlib.suppress(OSError):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _private(path):
            return path
        if os.environ.get("FINCH_CACHE_DIR"):
            break
    return None


def _spare() -> Path:
    """For users without a home directory."""
    import tempfile  # not needed by those who have one

    return Path(tempfile.gettempdir(), f"finch-python-{os.getuid()}")


def _private(path: Path) -> bool:
    """Whether a directory belongs to this user and nobody else may write to it: what it holds is
    run. The link by which it is reached, if it is one, must be the user's too."""
    try:
        link, status = os.lstat(path), os.stat(path)
    except OSError:
        return False
    open_to_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    mine = link.st_uid == status.st_uid == os.getuid()
    return stat.S_ISDIR(status.st_mode) and mine and not open_to_others


# -- entries ----------------------------------------------------------------------------------


def name(*parts: str) -> str:
    """The name of an entry, from all that it depends on."""
    return hashlib.sha256("\0".join((FORMAT, *parts)).encode()).hexdigest()


def load(entry: str) -> Entry | None:
    """The entry of this name, or ``None`` if there is none or it is damaged."""
    text = _read(entry)
    path = directory()
    if text is None or path is None:
        return None
    lines = text.split("\n", 3)
    if len(lines) < 4:
        return None
    digest, signature, notes, source = lines
    library = path / f"{digest}.so"
    try:
        whole = _digest(library.read_bytes()) == digest
    except (OSError, ValueError):  # a name that is none
        return None
    with contextlib.suppress(OSError):  # a cache that only can be read is of use all the same
        for used in (library, path / f"{entry}.txt"):
            os.utime(used)
    return Entry(library, source, signature, notes) if whole else None


def store(entry: str, library: bytes, source: str, signature: str, notes: str = "") -> Entry | None:
    """Keep a compiled kernel; ``None`` where the cache does not take it."""
    path, digest = directory(), _digest(library)
    if path is None:
        return None
    try:
        if int(digest[:8], 16) % _STORES_A_CHECK == 0:
            _trim()
        _write(path / f"{digest}.so", library)
        _write_text(path / f"{entry}.txt", "\n".join((digest, signature, notes, source)))
    except OSError:
        return None
    return Entry(path / f"{digest}.so", source, signature, notes)


def drop(entry: str, kept: Entry) -> None:
    """Forget a kernel that cannot be used."""
    for file in (kept.library.with_name(f"{entry}.txt"), kept.library):
        with contextlib.suppress(OSError):
            file.unlink()


def runs_no_code(path: Path | None) -> bool:
    """Whether the file system of a folder is mounted so that no code on it can be run."""
    return path is not None and bool(os.statvfs(path).f_flag & getattr(os, "ST_NOEXEC", 0))


def remember(entry: str, facts: Sequence[str]) -> None:
    """Keep some words, such as the flags that a compiler takes."""
    path = directory()
    if path is not None:
        with contextlib.suppress(OSError):
            _write_text(path / f"{entry}.txt", "\n".join(facts))


def recall(entry: str) -> tuple[str, ...] | None:
    """The words that were remembered, or ``None``."""
    text = _read(entry)
    return None if text is None else tuple(text.split())


def _read(entry: str) -> str | None:
    """The text kept under this name, or ``None`` if there is none or it is damaged."""
    path = directory()
    if path is None:
        return None
    try:
        digest, _, text = (path / f"{entry}.txt").read_bytes().partition(b"\n")
    except OSError:
        return None
    if _digest(text).encode() != digest:
        return None
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write_text(path: Path, text: str) -> None:
    data = text.encode()
    _write(path, _digest(data).encode() + b"\n" + data)


def _write(path: Path, data: bytes) -> None:
    """Write aside, then rename: a reader sees the old file or the new one, whole."""
    import tempfile  # not needed to read

    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


# -- upkeep -----------------------------------------------------------------------------------


class _File(NamedTuple):
    used: float
    bytes: int
    path: Path


def _files() -> list[_File]:
    """What the cache holds."""
    path = directory()
    found = []
    for file in () if path is None else path.iterdir():
        if file.suffix in (".so", ".txt") or file.name.startswith(".writing-"):
            with contextlib.suppress(FileNotFoundError):  # another process took it away
                status = file.stat()
                found.append(_File(status.st_mtime, status.st_size, file))
    return found


def _trim() -> None:
    """Remove the files that were not used for longest, where the cache is too large."""
    files = sorted(_files())
    size = sum(file.bytes for file in files)
    if size <= MOST_BYTES:
        return
    for file in files:
        if size <= MOST_BYTES // 2:
            break
        file.path.unlink(missing_ok=True)
        size -= file.bytes


def info() -> Info:
    """Where the cache is and how large."""
    files = _files()
    return Info(directory(), len(files), sum(file.bytes for file in files))


def clear() -> int:
    """Remove every entry; returns how many files went. Kernels that are loaded stay usable."""
    files = _files()
    for file in files:
        file.path.unlink(missing_ok=True)
    return len(files)
