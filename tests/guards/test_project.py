"""The project as a whole: what importing loads, linters, dependencies, what tracked files say."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# nothing optional, nothing that compiles, nothing that starts processes
HEAVY = ("scipy", "pyamg", "cffi", "pycparser", "subprocess", "setuptools", "finch_backend_c")


def output(*command: str) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("package", ["finch_core", "finch_core.plugins", "finch_levels"])
def test_importing_loads_nothing_heavy(package: str) -> None:
    # what NumPy loads by itself is not ours to change
    program = (
        "import sys, numpy; before = set(sys.modules)\n"
        f"import {package}; print(*sorted(set(sys.modules) - before))"
    )
    loaded = output("-c", program).split()
    assert package in loaded
    assert [name for name in loaded if name.split(".")[0] in HEAVY] == []


def test_ruff_has_nothing_to_say() -> None:
    output("-m", "ruff", "check", ".")


def test_files_are_formatted() -> None:
    output("-m", "ruff", "format", "--check", ".")


def test_the_packages_are_fully_typed() -> None:
    output("-m", "mypy")


def test_the_dependencies_are_these_four() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [re.match(r"[\w-]+", text)[0] for text in project["dependencies"]]
    assert sorted(names) == ["attrs", "cffi", "numpy", "pluggy"]


def test_every_package_of_the_tree_is_shipped() -> None:
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in ROOT.glob("finch_*/**/*.py")
        if "__pycache__" not in path.parts
    }
    assert sorted(shipped) == sorted(found)


def test_tracked_files_name_no_place_on_a_machine() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], capture_output=True, text=True, cwd=ROOT, check=True
    ).stdout.split("\0")
    places = re.compile(r"(?<![\w.])/(?:home|work|root|Users|mnt|opt)/\w")
    wrong = [
        name
        for name in filter(None, tracked)
        if (ROOT / name).exists() and places.search((ROOT / name).read_text(errors="replace"))
    ]
    assert wrong == []


def test_what_the_test_extra_installs_is_not_skipped() -> None:
    """A library that is missing fails the tests that need it; torch is too large to ask for."""
    skips = re.compile(r'importorskip\(\s*"([\w.]+)"')
    found = {
        (path.name, name)
        for path in (ROOT / "tests").rglob("*.py")
        for name in skips.findall(path.read_text())
        if name != "torch" and ".tests." not in name  # some distributions leave out SciPy's tests
    }
    assert found == set()
