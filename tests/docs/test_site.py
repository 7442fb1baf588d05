"""The site: it is built without warnings, its links lead somewhere, and its pages are complete."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from finch_array.namespace import NAMES
from finch_core import errors

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCKS = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    command = [sys.executable, "docs/build.py", "--quick", "--output", str(tmp_path / "html")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "html/start/ten-minutes.html").exists()
    shown = (tmp_path / "html/reference.html").read_text()
    public = [name for name in NAMES if not name.startswith("_")]
    assert [name for name in public if not re.search(rf">[^<]*\b{name}\b", shown)] == []


def names(package: str) -> list[str]:
    return sorted(importlib.import_module(package).__all__)


@pytest.mark.parametrize("package", ["finch_core", "finch_levels", "finch_wrappers"])
def test_the_reference_has_every_public_name(package: str) -> None:
    page = (DOCS / "reference.md").read_text()
    own = page[page.index(f"## {package}") :]
    missing = [name for name in names(package) if not re.search(rf"\b{name}\b", own)]
    assert missing == []


def sections(page: str) -> dict[str, list[str]]:
    """The blocks of each section of a page, by the section's heading."""
    parts = re.split(r"^##+ (.*)$", (DOCS / page).read_text(), flags=re.MULTILINE)
    return {head: BLOCKS.findall(body) for head, body in zip(parts[1::2], parts[2::2], strict=True)}


def test_every_error_has_a_program_that_raises_it_and_one_that_works() -> None:
    found = sections("errors.md")
    assert len(found) > 25
    for head, blocks in found.items():
        assert "raises(" in blocks[0] or "PerformanceWarning" in blocks[0], head
        assert len(blocks) == 2 or "read(path)" in blocks[0].splitlines()[-1], head
    page = (DOCS / "errors.md").read_text()
    kinds = [k for k in vars(errors).values() if isinstance(k, type)]
    raised = [k.__name__ for k in kinds if issubclass(k, errors.FinchError)]
    assert [name for name in raised if f"`{name}`" not in page] == []


def test_there_are_recipes() -> None:
    found = {head: blocks for head, blocks in sections("recipes.md").items() if blocks}
    assert len(found) >= 30


def test_every_page_is_in_the_site() -> None:
    """Reached from the index by its tables of contents (Sphinx warns of one that is not)."""
    listed = "".join((DOCS / page).read_text() for page in ("index.md", "inside.md"))
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert [name for name in sorted(pages) if not re.search(rf"^{name}$", listed, re.M)] == []
