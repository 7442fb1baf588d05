"""The public names of each version of the interface that is supported are there, and those that
are there now are listed: whoever adds or takes away one decides about the version.

The first change after a release raises ``INTERFACE`` (``finch_core/interface/versions.py``);
``python tests/guards/test_public_interface.py`` writes the names.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

from finch_core.plugins import INTERFACE, OLDEST_INTERFACE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/public-modules.md").read_text()
MODULES = sorted(set(re.findall(r"\| `(finch_[\w.]+)`", PAGE)))


def listed(version: int) -> Path:
    return Path(__file__).with_name(f"interface_{version}.txt")


def names(module: ModuleType) -> list[str]:
    own = [
        n
        for n, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
    ]
    return sorted(getattr(module, "__all__", [n for n in own if not n.startswith("_")]))


def present() -> list[str]:
    found = {name: importlib.import_module(name) for name in MODULES}
    return [f"{name}.{item}" for name, module in found.items() for item in names(module)]


def test_the_page_names_the_versions() -> None:
    assert f"`INTERFACE`, {INTERFACE} now" in PAGE
    assert f"`OLDEST_INTERFACE`, {OLDEST_INTERFACE} now" in PAGE
    assert "finch_core.level" in MODULES


def test_the_public_names_are_those_of_this_version() -> None:
    known, found = set(listed(INTERFACE).read_text().split()), set(present())
    told = f"added: {sorted(found - known)}, removed: {sorted(known - found)}; see {__file__}"
    assert found == known, told


def test_the_names_of_supported_versions_are_there() -> None:
    for version in range(OLDEST_INTERFACE, INTERFACE + 1):
        wanted = listed(version).read_text().split() if listed(version).exists() else []
        missing = [path for path in wanted if not _found(path)]
        assert missing == [], version


def _found(path: str) -> bool:
    module, _, name = path.rpartition(".")
    return hasattr(importlib.import_module(module), name)


if __name__ == "__main__":
    listed(INTERFACE).write_text("\n".join(present()) + "\n")
