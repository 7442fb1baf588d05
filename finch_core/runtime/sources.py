"""The state of the source files that kernels depend on, as a part of cache keys: when one of these
files changes, cached kernels are no longer found.

Of our own packages, and those of plugins and of the backend, every file counts. Of another module
(a format in a script, a helper that a plugin imports) its file counts, and the files of all modules
that its text imports. The search ends at modules in ``site-packages``, for which the list of
installed distributions stands in, and at the standard library and NumPy, which count by version.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from typing import Any

import numpy as np

from finch_core.interface.digest import digest
from finch_core.interface.discovery import installed
from finch_core.interface.plugin_records import DISTRIBUTION
from finch_core.interface.plugins import hub

Stamp = tuple[str, int, int]

_BEGAN = time.time_ns()
"""When this process began: files that are newer may differ from the code that it runs."""

_LIBRARIES = ("site-packages", "dist-packages")
_BY_VERSION = sys.stdlib_module_names - {"__main__"} | {"numpy"}
_IMPORT = (
    r"(?:^|[;:])[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]*)"
    r"|import[ \t]+([^\n#;]+))"
)
"""An import statement anywhere in the text; a false match within a string is harmless. Compiled
when a file is read, which is rare, not on import."""


class UnidentifiedError(Exception):
    """Something that a kernel depends on cannot be identified in another process, so that the
    kernel is not kept on disk."""


def state(backend: str, modules: frozenset[str] = frozenset()) -> str:
    """A hash over the paths, sizes and times of all files that the compiler, the module
    ``backend``, the plugins and these ``modules`` come from.

    Raises ``UnidentifiedError`` where a file is unknown or has changed since this process began.
    """
    text, newest = _state(backend, modules, hub().generation)
    if _BEGAN < newest <= time.time_ns():
        raise UnidentifiedError
    return text


@cache
def _state(backend: str, modules: frozenset[str], generation: int) -> tuple[str, int]:
    stamps: set[Stamp] = set()
    plugins = {module.__name__ for module in hub().modules()}
    for package in {_top(name) for name in ("finch_core", backend, *plugins)}:
        stamps.update(_package(package))
    for name in sorted(modules):
        if not is_settled(name) and _file(_spec(name)) is None:
            raise UnidentifiedError  # written in a notebook, say
    stamps.update(_reached({backend, *plugins, *modules}))
    text = repr((np.__version__, sorted(stamps)))
    return digest(text.encode()), max(when for _, when, _ in stamps)


def _package(name: str) -> Iterator[Stamp]:
    for folder in getattr(sys.modules.get(name), "__path__", ()):
        yield from _folder(folder)


def _folder(folder: str) -> Iterator[Stamp]:
    """The stamps of the Python files in a folder and in those in it."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(".py"):
            found = entry.stat()
            yield entry.path, found.st_mtime_ns, found.st_size
        elif entry.is_dir(follow_symlinks=False):
            yield from _folder(entry.path)


def _stamp(path: str) -> Stamp:
    found = os.stat(path)
    return path, found.st_mtime_ns, found.st_size


def _top(name: str) -> str:
    return name.partition(".")[0]


@cache
def _own() -> frozenset[str]:
    """The names of our own packages."""
    entries = (*installed("finch.plugins"), *installed("finch.backends"))
    return frozenset(
        {"finch_core", *(_top(e.module) for e in entries if e.distribution == DISTRIBUTION)}
    )


def is_settled(name: str) -> bool:
    """Whether a module needs no stamp of its own: all files of our packages count, and Python's and
    NumPy's modules count by version."""
    top = _top(name)
    return top in _own() or top in _BY_VERSION


# -- what a module imports ------------------------------------------------------------------------


def _reached(roots: set[str]) -> Iterator[Stamp]:
    """Stamps of the files of modules, and of all modules that they import."""
    todo, seen, places = sorted(roots), set(), set()
    while todo:
        name = todo.pop()
        if name in seen or is_settled(name):
            continue
        seen.add(name)
        spec = _spec(name)
        file = _file(spec)
        if file is None:
            continue
        yield _stamp(file)
        todo += [name.rpartition(".")[0]] if "." in name else []
        place = _library(file)
        if place is not None and place not in places:
            places.add(place)
            yield from _distributions(place)
        if place is None or name in roots:
            todo += _imports(name, file, spec)


def _spec(name: str) -> Any:
    """The spec of a module, found without importing it; None where there is none."""
    module = sys.modules.get(name)
    if module is not None:
        return getattr(module, "__spec__", None) or module
    parent, _, _ = name.rpartition(".")
    try:
        if not parent:
            return find_spec(name) if name else None
        places = getattr(_spec(parent), "submodule_search_locations", None)
        return PathFinder.find_spec(name, places) if places else None
    except (ImportError, ValueError, AttributeError):
        return None


def _file(spec: Any) -> str | None:
    file = getattr(spec, "origin" if isinstance(spec, ModuleSpec) else "__file__", None)
    return os.path.abspath(file) if isinstance(file, str) and os.path.isfile(file) else None


def _library(file: str) -> str | None:
    """The folder of installed distributions that contains a file, or None."""
    parts = file.split(os.sep)
    for k, part in enumerate(parts):
        if part in _LIBRARIES:
            return os.sep.join(parts[: k + 1])
    return None


def _distributions(place: str) -> Iterator[Stamp]:
    for name in os.listdir(place):
        if name.endswith((".dist-info", ".egg-info")):
            yield _stamp(os.path.join(place, name))


def _imports(name: str, file: str, spec: Any) -> list[str]:
    """The names of modules that a file may import."""
    if not file.endswith((".py", ".pyw")):
        return []
    with open(file, encoding="utf-8", errors="replace") as opened:
        text = opened.read()
    inside = getattr(spec, "submodule_search_locations", None) is not None
    package = name if inside else name.rpartition(".")[0]
    found: list[str] = []
    for source, names, plain in re.findall(_IMPORT, text, re.MULTILINE):
        words = [
            part.split()[0] for part in (names or plain).strip("()").split(",") if part.split()
        ]
        if not source:
            found += words
            continue
        level = len(source) - len(source.lstrip("."))
        parents = package.split(".")
        base = parents[: len(parents) - level + 1] if level else []
        whole = ".".join([*base, *filter(None, source.lstrip(".").split("."))])
        found += [whole, *(f"{whole}.{word}" for word in words)]
    return [name for name in found if name]
