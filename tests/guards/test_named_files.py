"""Files and modules that pages, docstrings and comments name are there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = "ir|symbolic|interface|frontend|looplets|lower|optimize|reference|runtime|io|testing"
FILE = re.compile(r"`([\w./-]+\.py)`")
MODULE = re.compile(rf"``((?:finch_core\.)?(?:{FOLDERS})\.[a-z_]+)(?:\.\w+)?``")
PLACEHOLDER = "NAME"
TRACKED = subprocess.run(
    ["git", "ls-files", "*.py", "*.md"], capture_output=True, text=True, cwd=ROOT, check=True
).stdout.split()
FILES = [name for name in TRACKED if (ROOT / name).exists()]
SOURCES = {name for name in FILES if name.endswith(".py")}


def is_there(name: str) -> bool:
    """Whether a file is called so, from the root of the project or from a folder in it on."""
    return name in SOURCES or any(source.endswith("/" + name) for source in SOURCES)


def is_module(name: str) -> bool:
    path = "finch_core/" + name.removeprefix("finch_core.").replace(".", "/")
    return is_there(path + ".py") or (ROOT / path).is_dir()


@pytest.mark.parametrize("folder", sorted({name.partition("/")[0] for name in FILES}))
def test_named_files_are_there(folder: str) -> None:
    wrong = []
    for name in FILES:
        if name.partition("/")[0] != folder or name == "CHANGELOG.md":  # it tells of the past
            continue
        text = (ROOT / name).read_text()
        missing = [path for path in FILE.findall(text) if not is_there(path)]
        missing += [path for path in MODULE.findall(text) if not is_module(path)]
        wrong += [f"{name}: {path}" for path in missing if PLACEHOLDER not in path]
    assert wrong == []
