"""The disk cache of compiled kernels, shared by processes.

An entry is two files: a library named by the hash of its contents, and ``<key>.txt`` with the name
of the library, its signature and the C text. Both are written to temporary files and renamed, the
library first, so that readers see complete entries only; checksums are compared, too. Without a
usable cache directory (read-only, full, or writable by others) nothing is cached. When the cache
exceeds ``MOST_BYTES``, the least recently used files are removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from finch_core.interface.digest import digest
from finch_core.locks import on_fork
from finch_core.records import frozen

FORMAT = "3"
"""The version of entries: changed when older ones must not be used, because the C text or the
calling convention changed."""
MOST_BYTES = 1 << 29
"""A cache larger than this is trimmed to half of it."""
_STORES_A_CHECK = 32
"""One of this many stores, at random, checks the size of the cache: most processes store few."""


PATIENCE = 120.0
"""Seconds that a process waits for another that compiles the same kernel."""


@frozen
class CachedKernel:
    """A kernel in the cache: the path of the library, the C text, the letters of its parameters
    (``entry.signature``), and a line of notes by the core."""

    library: str
    source: str
    signature: str
    notes: str = ""


class Info(NamedTuple):
    """The cache's directory, its number of files, and their size in bytes."""

    path: str | None
    files: int
    bytes: int


# -- the directory ----------------------------------------------------------------------------


def location() -> str:
    """The configured directory: ``FINCH_CACHE_DIR``, else one in the user's cache directory."""
    named = os.environ.get("FINCH_CACHE_DIR")
    if named:
        return named
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "finch-python")


def directory() -> str | None:
    """The cache's directory, created if necessary; None if it cannot be used or trusted."""
    for found in (location, _spare):
        path = found()
        with contextlib.suppress(OSError):
            os.makedirs(path, mode=0o700, exist_ok=True)
        if _private(path):
            return path
        if os.environ.get("FINCH_CACHE_DIR"):
            break
    return None


def _spare() -> str:
    """The directory for users without a home directory."""
    from finch_backend_c.toolchain import places  # not needed by those who have one

    return os.path.join(places()[0], f"finch-python-{os.getuid()}")


def _private(path: str) -> bool:
    """Whether a directory belongs to this user and is not writable by others, since its libraries
    are executed. If it is a symbolic link, that must belong to the user, too."""
    try:
        link, status = os.lstat(path), os.stat(path)
    except OSError:
        return False
    open_to_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    mine = link.st_uid == status.st_uid == os.getuid()
    return stat.S_ISDIR(status.st_mode) and mine and not open_to_others


# -- entries ----------------------------------------------------------------------------------


def name(*parts: str) -> str:
    """The name of an entry: a hash of all that it depends on."""
    return digest("\0".join((FORMAT, *parts)).encode())


def load(entry: str) -> CachedKernel | None:
    """The entry of this name, or ``None`` if there is none or it is damaged."""
    text = _read(entry)
    path = directory()
    if text is None or path is None:
        return None
    lines = text.split("\n", 3)
    if len(lines) < 4:
        return None
    digest, signature, notes, source = lines
    library = _file(path, digest, ".so")
    try:
        whole = _digest(_contents(library)) == digest
    except (OSError, ValueError):  # not a file name
        return None
    with contextlib.suppress(OSError):  # a read-only cache can be used, too
        for used in (library, _file(path, entry)):
            os.utime(used)
    return CachedKernel(library, source, signature, notes) if whole else None


def store(
    entry: str, library: bytes, source: str, signature: str, notes: str = ""
) -> CachedKernel | None:
    """Store a compiled kernel; returns None if the cache cannot store it."""
    path, digest = directory(), _digest(library)
    if path is None:
        return None
    try:
        if int(digest[:8], 16) % _STORES_A_CHECK == 0:
            _trim()
        _write(_file(path, digest, ".so"), library)
        _write_text(_file(path, entry), "\n".join((digest, signature, notes, source)))
    except OSError:
        return None
    return CachedKernel(_file(path, digest, ".so"), source, signature, notes)


def drop(entry: str, kept: CachedKernel) -> None:
    """Remove a kernel that cannot be used."""
    for file in (_file(os.path.dirname(kept.library), entry), kept.library):
        with contextlib.suppress(OSError):
            os.unlink(file)


def runs_no_code(path: str | None) -> bool:
    """Whether the file system of a folder is mounted ``noexec``."""
    return path is not None and bool(os.statvfs(path).f_flag & getattr(os, "ST_NOEXEC", 0))


def remember(entry: str, facts: Sequence[str]) -> None:
    """Store some words, such as the flags that a compiler accepts."""
    path = directory()
    if path is not None:
        with contextlib.suppress(OSError):
            _write_text(_file(path, entry), "\n".join(facts))


def recall(entry: str) -> tuple[str, ...] | None:
    """The words that were remembered, or ``None``."""
    text = _read(entry)
    return None if text is None else tuple(text.split())


def _read(entry: str) -> str | None:
    """The text stored under this name, or None if there is none or it is damaged."""
    path = directory()
    if path is None:
        return None
    try:
        digest, _, text = _contents(_file(path, entry)).partition(b"\n")
    except OSError:
        return None
    if _digest(text).encode() != digest:
        return None
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


def _file(folder: str, entry: str, ending: str = ".txt") -> str:
    return os.path.join(folder, entry + ending)


def _contents(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _digest(data: bytes) -> str:
    return digest(data)


def _write_text(path: str, text: str) -> None:
    data = text.encode()
    _write(path, _digest(data).encode() + b"\n" + data)


def _write(path: str, data: bytes) -> None:
    """Write a temporary file and rename it: readers see the old file or the new one."""
    aside = os.path.join(os.path.dirname(path), f".writing-{os.urandom(8).hex()}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


# -- one compiler at a time --------------------------------------------------------------------


@contextlib.contextmanager
def compiling(entry: str) -> Iterator[None]:
    """Held while the kernel of this name is compiled, so that no other process or thread compiles
    it at the same time; for ``PATIENCE`` seconds at most. Nothing is held without a usable cache.

    The lock is that of a file, which the system releases when its holder dies.
    """
    path = directory()
    held = None if path is None else _locked(_file(path, entry, ".lock"))
    try:
        yield
    finally:
        if held is not None:
            _release(*held)


def _locked(file: str) -> tuple[int, str] | None:
    """The descriptor of a file that is locked, and its path; None if there is no such lock."""
    end, pause = time.monotonic() + PATIENCE, 0.002
    while time.monotonic() < end:
        try:
            opened = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        _opened.add(opened)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(opened).st_ino == os.stat(file).st_ino:  # not one that is removed by now
                return opened, file
        except (BlockingIOError, FileNotFoundError):
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        except OSError:  # a file system without locks
            _close(opened)
            return None
        except BaseException:
            _close(opened)
            raise
        _close(opened)
    return None


def _release(opened: int, file: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(file)
    _close(opened)


def _close(opened: int) -> None:
    _opened.discard(opened)
    with contextlib.suppress(OSError):
        os.close(opened)


_opened: set[int] = set()


@on_fork
def _forget_locks() -> None:
    """A child has the descriptors of its parent's locks, and would hold them on."""
    for opened in list(_opened):
        _close(opened)


# -- upkeep -----------------------------------------------------------------------------------


class _File(NamedTuple):
    used: float
    bytes: int
    path: str


def _files() -> list[_File]:
    """The files of the cache."""
    path = directory()
    found = []
    for name in () if path is None else os.listdir(path):
        if name.endswith((".so", ".txt", ".lock")) or name.startswith(".writing-"):
            file = os.path.join(path or "", name)
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                status = os.stat(file)
                found.append(_File(status.st_mtime, status.st_size, file))
    return found


def _remove(file: _File) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(file.path)


def _trim() -> None:
    """Remove the least recently used files if the cache is too large."""
    files = sorted(_files())
    size = sum(file.bytes for file in files)
    if size <= MOST_BYTES:
        return
    for file in files:
        if size <= MOST_BYTES // 2:
            break
        _remove(file)
        size -= file.bytes


def info() -> Info:
    """The cache's directory and size."""
    files = _files()
    return Info(directory(), len(files), sum(file.bytes for file in files))


def clear() -> int:
    """Remove every entry; returns the number of files removed. Loaded kernels stay usable."""
    files = _files()
    for file in files:
        _remove(file)
    return len(files)
