"""A pass over assembly has its row in the documentation and its case in the benchmark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from finch_core.optimize import PASSES

ROOT = Path(__file__).parents[2]
NAMES = sorted({name for name, _ in PASSES})


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_has_its_row_and_its_case(name: str) -> None:
    page = (ROOT / "docs/performance.md").read_text()
    assert re.search(rf"^\| `{name}` \|", page, re.MULTILINE)
    assert re.search(rf'"{name}"', (ROOT / "bench/passes.py").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_is_named_after_its_file(name: str) -> None:
    assert (ROOT / f"finch_core/optimize/{name}.py").exists()
    assert dict(PASSES)[name].__name__ == name
