"""The code in the documents runs, and so does the example."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = ("_build", "made")  # by docs/build.py
PAGES = [
    ROOT / "README.md",
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if not {*MADE} & {*p.parts}),
]
SITE = runpy.run_path(str(ROOT / "docs/build.py"))
BLOCK = SITE["BLOCK"]


def pages_with_code() -> list[str]:
    return [str(p.relative_to(ROOT)) for p in PAGES if BLOCK.search(p.read_text())]


@pytest.mark.parametrize("page", pages_with_code())
def test_the_code_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The blocks of a page are one program: a file, since kernels are read from their source."""
    if page.startswith("docs/examples/plugins/"):
        site = str(request.getfixturevalue("example_site"))
        monkeypatch.setenv("PYTHONPATH", site, prepend=os.pathsep)
    script = tmp_path / "page.py"
    script.write_text(SITE["program"]((ROOT / page).read_text()))
    run(str(script))


def test_a_format_takes_less_than_150_lines() -> None:
    """All of the page's program up to where the format is registered."""
    text = (ROOT / "docs/write-a-format.md").read_text().partition("## Registering it")[0]
    lines = [line for block in BLOCK.finditer(text) for line in block[1].splitlines()]
    assert "class Flags(Format):" in lines
    assert len(lines) < 150


def test_the_suite_of_the_page_on_dtypes_passes(tmp_path: Path) -> None:
    script = tmp_path / "test_float8.py"
    script.write_text(SITE["program"]((ROOT / "docs/write-a-dtype.md").read_text()))
    printed = run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(script))
    assert re.search(r"^\d\d? passed", printed, re.MULTILINE), printed


def test_the_readme_has_code() -> None:
    assert "README.md" in pages_with_code()


MATRIX = "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 2\n2 1 1\n2 3 4\n3 2 .5\n"


def test_the_example_runs_on_a_matrix_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "small.mtx"
    path.write_text(MATRIX)
    printed = run(str(ROOT / "docs/examples/spmv.py"), str(path))
    assert "3 x 3, 4 stored values" in printed
    assert "the result agrees with SciPy's" in printed
    assert "backend '" in printed


def test_links_between_documents_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in [*PAGES, ROOT / "CHANGELOG.md"]
        for target in re.findall(r"\]\(([^):#]+)\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []


def run(*command: str) -> str:
    few = {"FINCH_TESTS_SHARE": "0.3", **os.environ}  # of the pairs in the suites of pages
    done = subprocess.run(
        [sys.executable, "-W", "error", *command],
        capture_output=True,
        text=True,
        timeout=120,
        env=few,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
