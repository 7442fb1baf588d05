"""Discovery of installed plugins and backends, from the folders on ``sys.path``.

``importlib.metadata`` finds the same, but takes as long as the rest of a first call whose
kernel is on disk, since it imports the parsers of mail and archives. The common case is read
here: folders called ``*.dist-info`` or ``*.egg-info``. Everything else is left to
``importlib.metadata``: archives and eggs on the path, and finders of distributions that are in
no folder.
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
"""The prefix of the entry-point groups that are read."""

UNKNOWN = "(unknown distribution)"
"""The distribution of an entry point that does not name one."""


@frozen
class EntryPoint:
    """A name that a distribution gives to an object (``module:attribute``), in a group."""

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
        """The object: the module, or its dotted attribute."""
        attribute = self.value.partition("[")[0].partition(":")[2]
        found = import_module(self.module)
        for name in filter(None, attribute.strip().split(".")):
            found = getattr(found, name)
        return found


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group (whose name begins with ``PREFIX``) of all installed
    distributions.

    Of a distribution that is installed twice, only the first on ``sys.path`` counts. Each path
    is read once, for all groups.
    """
    path = tuple(place for place in sys.path if isinstance(place, str))  # as imports see it
    return tuple(entry for entry in _on_path(path) if entry.group == group)


@lru_cache(maxsize=1)
def _on_path(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    if any(map(_finds_others, sys.meta_path)) or any(map(_holds_others, path)):
        return _by_library(path)
    return tuple(_in_folders(path))


def _finds_others(finder: Any) -> bool:
    """Whether a finder finds distributions that are in no folder on the path."""
    return finder is not PathFinder and hasattr(finder, "find_distributions")


def _holds_others(place: str) -> bool:
    """Whether a place on the path is an archive or an egg."""
    return place.lower().endswith(".egg") or os.path.isfile(place)


def _by_library(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    return tuple(_of_distributions(path))


def _of_distributions(path: tuple[str, ...]) -> Iterator[EntryPoint]:
    from importlib import metadata

    seen: set[str] = set()
    # the path is passed: what else lies on ``sys.path`` stops finders that are not Python's own
    for distribution in metadata.distributions(path=list(path)):
        name, version = _told(distribution)
        normal = _normal_name(name)
        if normal not in seen or name == UNKNOWN:
            seen.add(normal)
            for entry in distribution.entry_points:
                if entry.group.startswith(PREFIX):
                    yield EntryPoint(entry.name, entry.value, entry.group, name, version)


def _told(distribution: Any) -> tuple[str, str]:
    """The name and version of a distribution, whose attributes may raise for what is missing."""
    try:
        headers = distribution.metadata or {}
    except FileNotFoundError:
        headers = {}
    return headers.get("Name") or UNKNOWN, headers.get("Version") or "0"


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
    """The folders in ``place`` with the metadata of distributions."""
    try:
        return [name for name in os.listdir(place) if name.lower().endswith(_ENDINGS)]
    except OSError:
        return []


_ENDINGS = (".dist-info", ".egg-info")


def _normal(folder: str) -> str:
    """The normalised name of the distribution that ``folder`` describes."""
    return _normal_name(folder.rpartition(".")[0].partition("-")[0])


def _normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


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
    """The name and version in the metadata headers."""
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
