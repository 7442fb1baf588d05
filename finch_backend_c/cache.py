"""Compiled kernels on disk, shared by processes.

An entry is two files: a library named by its contents, and ``<key>.json``, which names the library
and says how to call it. Both are written aside and renamed into place, the library first, so that
an entry that can be read is whole; its checksum is compared all the same. A cache that cannot be
used (read-only, full, or open to others) is done without.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import attrs

FORMAT = "1"
"""Changes whenever an older entry must not be used: the text or the calling of kernels changed."""


@attrs.frozen
class Entry:
    """A compiled kernel: the library's path, its C text, and the letters of its parameters."""

    library: Path
    source: str
    signature: str


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
    for path in dict.fromkeys((location(), _spare())):
        with contextlib.suppress(OSError):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _private(path):
            return path
        if os.environ.get("FINCH_CACHE_DIR"):
            break
    return None


def _spare() -> Path:
    """For users without a home directory."""
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
    path = directory()
    if path is None:
        return None
    try:
        facts = json.loads((path / f"{entry}.json").read_bytes())
        library = path / f"{facts['digest']}.so"
        whole = _digest(library.read_bytes()) == facts["digest"]
        return Entry(library, facts["source"], facts["signature"]) if whole else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(entry: str, library: bytes, source: str, signature: str) -> Entry | None:
    """Keep a compiled kernel; ``None`` where the cache does not take it."""
    path, digest = directory(), _digest(library)
    if path is None:
        return None
    facts = {"digest": digest, "signature": signature, "source": source}
    try:
        _write(path / f"{digest}.so", library)
        _write(path / f"{entry}.json", json.dumps(facts).encode())
    except OSError:
        return None
    return Entry(path / f"{digest}.so", source, signature)


def remember(entry: str, facts: Any) -> None:
    """Keep a small fact, such as the flags that a compiler takes."""
    path = directory()
    if path is not None:
        with contextlib.suppress(OSError):
            _write(path / f"{entry}.json", json.dumps(facts).encode())


def recall(entry: str) -> Any:
    """A fact that was remembered, or ``None``."""
    path = directory()
    if path is None:
        return None
    with contextlib.suppress(OSError, ValueError):
        return json.loads((path / f"{entry}.json").read_bytes())
    return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(path: Path, data: bytes) -> None:
    """Write aside, then rename: a reader sees the old file or the new one, whole."""
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


def _files() -> list[Path]:
    path = directory()
    if path is None:
        return []
    ours = (".so", ".json")
    return [f for f in path.iterdir() if f.suffix in ours or f.name.startswith(".writing-")]


def info() -> Info:
    """Where the cache is and how large."""
    files = _files()
    return Info(directory(), len(files), sum(f.stat().st_size for f in files))


def clear() -> int:
    """Remove every entry; returns how many files went. Kernels that are loaded stay usable."""
    files = _files()
    for file in files:
        file.unlink(missing_ok=True)
    return len(files)
