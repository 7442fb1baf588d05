"""Which plugins and backends are installed, read from the folders on ``sys.path``.

``importlib.metadata`` answers the same, and takes as long as all the rest of a first call whose
kernel is on disk: it brings the parsers of mail and of archives with it. So the common case is
read here, folders called ``*.dist-info`` or ``*.egg-info``, and all others are left to it: archives
and eggs on the path, and finders that know distributions which are in no folder.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any

from finch_core.records import frozen

PREFIX = "finch."
"""How the groups begin that are looked for."""

UNKNOWN = "(unknown distribution)"
"""Stands for the distribution of an entry point that does not say."""


@frozen
class EntryPoint:
    """A name that the ``distribution`` gives to an object, in a group: ``module:attribute``."""

    name: str
    value: str
    group: str
    distribution: str = UNKNOWN
    version: str = "0"

    @property
    def origin(self) -> tuple[str, str]:
        """The name and version of the distribution."""
        return self.distribution, self.version

    @property
    def module(self) -> str:
        """The name of the module that it is in."""
        return self.value.partition("[")[0].partition(":")[0].strip()

    def load(self) -> Any:
        """The object: the module, or what the dotted attribute names in it."""
        attribute = self.value.partition("[")[0].partition(":")[2]
        found = import_module(self.module)
        for name in filter(None, attribute.strip().split(".")):
            found = getattr(found, name)
        return found


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group that begins with ``PREFIX``, of all installed distributions.

    Of a distribution that is there twice, those of the one that comes first on ``sys.path``.
    They are looked for once on a path, for all groups.
    """
    path = tuple(place for place in sys.path if isinstance(place, str))  # as imports see it
    return tuple(entry for entry in _on_path(path) if entry.group == group)


@lru_cache(maxsize=1)
def _on_path(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    if any(map(_finds_others, sys.meta_path)) or any(map(_holds_others, path)):
        return _by_library()
    return tuple(_in_folders(path))


def _finds_others(finder: Any) -> bool:
    """Whether a finder knows of distributions that it alone finds."""
    return finder is not PathFinder and hasattr(finder, "find_distributions")


def _holds_others(place: str) -> bool:
    """Whether a place on the path is an archive or an egg."""
    return place.lower().endswith(".egg") or os.path.isfile(place)


def _by_library() -> tuple[EntryPoint, ...]:
    from importlib import metadata

    # what this returns differs between versions of Python; each has had ``select``
    found: Any = metadata.entry_points()
    groups = sorted(group for group in found.groups if group.startswith(PREFIX))
    return tuple(
        EntryPoint(entry.name, entry.value, entry.group, *_told(entry.dist))
        for group in groups
        for entry in found.select(group=group)
    )


def _told(dist: Any) -> tuple[str, str]:
    if dist is None:
        return UNKNOWN, "0"
    return dist.name, dist.version


# -- folders ------------------------------------------------------------------------------------


def _in_folders(path: tuple[str, ...]) -> Iterator[EntryPoint]:
    seen: set[str] = set()
    for place in path:
        for folder in _information(place or "."):
            distribution = _normal(folder)
            if distribution not in seen:
                seen.add(distribution)
                yield from _of(os.path.join(place or ".", folder))


def _information(place: str) -> list[str]:
    """The folders in ``place`` that tell of distributions."""
    try:
        return [name for name in os.listdir(place) if name.lower().endswith(_ENDINGS)]
    except OSError:
        return []


_ENDINGS = (".dist-info", ".egg-info")


def _normal(folder: str) -> str:
    """The distribution that ``folder`` tells of, as distributions are compared."""
    return re.sub(r"[-_.]+", "_", folder.rpartition(".")[0].partition("-")[0]).lower()


def _of(folder: str) -> Iterator[EntryPoint]:
    text = _text(folder, "entry_points.txt")
    if "[" + PREFIX not in text:
        return
    origin = _name_and_version(folder)
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line.strip("[]")
        elif line and not line.startswith("#") and group.startswith(PREFIX):
            name, _, value = (part.strip() for part in line.partition("="))
            yield EntryPoint(name, value, group, *origin)


def _name_and_version(folder: str) -> tuple[str, str]:
    """What the headers say."""
    text = _text(folder, "METADATA") or _text(folder, "PKG-INFO")
    lines = (line.partition(":") for line in text.split("\n\n", 1)[0].splitlines())
    headers = {name.lower(): value.strip() for name, _, value in lines}
    return headers.get("name", UNKNOWN), headers.get("version", "0")


def _text(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
