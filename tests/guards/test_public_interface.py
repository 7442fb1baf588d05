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
WHOLE, _, IN_PART = PAGE.partition("Of these modules the names that are listed are public")
MODULES = sorted(set(re.findall(r"\| `(finch_[\w.]+)`", WHOLE)))
PARTS = {
    module: re.findall(r"`(\w+)`", listed)
    for listed, module in re.findall(r"\| ([^|]+) \| `(finch_[\w.]+)`", IN_PART)
}
"""The modules of which only some names are public."""
SHOWN = [
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/examples/plugins").rglob("src/**/*.py")),
]


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
    whole = [f"{name}.{item}" for name, module in found.items() for item in names(module)]
    return [*whole, *(f"{module}.{item}" for module in sorted(PARTS) for item in PARTS[module])]


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


def imports(text: str) -> list[tuple[str, str]]:
    """What a page or a program imports of our packages: modules, each with a name."""
    pattern = r"^ *from (finch_(?:core|levels|wrappers)[\w.]*) import (\([^)]*\)|[^\n]*)"
    found = re.findall(pattern, text, re.MULTILINE)
    return [(module, name) for module, names_ in found for name in re.findall(r"\w+", names_)]


def test_pages_and_examples_import_what_is_public() -> None:
    assert PARTS["finch_core.runtime.wrapping"]
    for page in SHOWN:
        private = [
            (module, name)
            for module, name in imports(page.read_text())
            if module not in MODULES
            and not module.startswith("finch_core.ir.")
            and name not in PARTS.get(module, ())
        ]
        assert private == [], page


def _found(path: str) -> bool:
    module, _, name = path.rpartition(".")
    return hasattr(importlib.import_module(module), name)


if __name__ == "__main__":
    listed(INTERFACE).write_text("\n".join(present()) + "\n")
