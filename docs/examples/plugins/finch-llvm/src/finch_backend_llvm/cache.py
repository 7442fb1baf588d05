"""Machine code on disk, so that a second process compiles nothing.

A file has all that a kernel needs: its C type, its text and its object code, after a checksum. It
is written aside and renamed into place, and one that does not match its checksum is no kernel.
Loading runs what is in it, so the folder must be the user's own, and writable for nobody else.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import zlib
from functools import cache
from pathlib import Path

import attrs

from finch_core.errors import BackendError

FOLDER = "FINCH_CACHE_DIR"
"""The environment variable that names the folder of Finch's caches; read at each use."""

MAGIC = b"finch-llvm 1\n"
_DIGEST = hashlib.sha256().digest_size


@attrs.frozen
class Stored:
    """What is kept of a kernel; ``params`` counts its parameters."""

    params: int
    prototype: str
    source: str
    code: bytes

    def packed(self) -> bytes:
        """The content of a file."""
        about = json.dumps([self.params, self.prototype, self.source])
        body = zlib.compress(about.encode(), 1)
        payload = len(body).to_bytes(8, "little") + body + self.code
        return MAGIC + hashlib.sha256(payload).digest() + payload

    @classmethod
    def unpacked(cls, content: bytes) -> Stored | None:
        """What ``packed`` made ``content`` of; ``None`` where anything is amiss."""
        start = len(MAGIC) + _DIGEST
        payload = content[start:]
        if content[:start] != MAGIC + hashlib.sha256(payload).digest():
            return None
        size = int.from_bytes(payload[:8], "little")
        params, prototype, source = json.loads(zlib.decompress(payload[8 : 8 + size]))
        return cls(params, prototype, source, payload[8 + size :])


def folder() -> Path | None:
    """The cache's folder, made if there is none; ``None`` where there can be none.

    Raises ``BackendError`` where the environment names a folder that others may write.
    """
    named = os.environ.get(FOLDER)
    base = named or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = Path(base) / "finch-llvm"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        private = _is_private(path)
    except OSError as error:
        if named:
            raise BackendError(f"{FOLDER}={named} cannot be used: {error}") from error
        return None
    if private:
        return path
    if named:
        raise BackendError(
            f"{path} belongs to someone else or may be written by others",
            hint=f"chmod 700 {path}, or let {FOLDER} name another folder",
        )
    return None


def _is_private(path: Path) -> bool:
    """Whether ``path`` is a folder of this user in which no other may write."""
    found = path.lstat()
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not others


@cache
def stamp() -> str:
    """The state of this package's own files: no kernel outlives a change of them."""
    modules = sorted(Path(__file__).parent.glob("*.py"))
    return repr([(m.name, m.stat().st_mtime_ns, m.stat().st_size) for m in modules])


def place(key: str, *what: str) -> Path | None:
    """The file of a kernel; ``what`` is what its code depends on beside ``key``."""
    found = folder()
    digest = hashlib.sha256("\n".join((key, stamp(), *what)).encode()).hexdigest()
    return None if found is None else found / f"{digest}.kernel"


def files() -> tuple[Path, ...]:
    """What the cache holds."""
    found = folder()
    return () if found is None else tuple(sorted(found.iterdir()))


def clear() -> int:
    """Remove all that the cache holds; gives the number of files."""
    found = files()
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def read(path: Path) -> Stored | None:
    """The kernel in a file, or ``None`` where there is none."""
    try:
        return Stored.unpacked(path.read_bytes())
    except OSError:
        return None


def write(path: Path, stored: Stored) -> None:
    """Keep a kernel; a disk that is full or read-only only costs the next process some time."""
    try:
        handle, aside = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(stored.packed())
            os.replace(aside, path)
        except OSError:
            os.unlink(aside)
    except OSError:
        return
