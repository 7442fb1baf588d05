"""A pass over assembly has its row in the documentation and its case in the benchmark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from finch_core.interface.lowering import LOWERING_RULES
from finch_core.optimize import PASSES, optimize
from finch_core.testing.random_assembly import random_block

ROOT = Path(__file__).parents[2]
NAMES = sorted({name for name, _ in PASSES})
MEANING = "test_asm_{}.py"
ELSEWHERE = {
    "gather_reductions": "fills_and_lanes",
    "vector_reductions": "fills_and_lanes",
}
"""The tests of passes that random assembly does not reach, where they are not called after one."""


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_has_its_row_and_its_case(name: str) -> None:
    page, cases = (ROOT / "docs/performance.md").read_text(), (ROOT / "bench/passes.py").read_text()
    row = re.search(rf"^\| `{name}` \|", page, re.MULTILINE) is not None
    assert row, f"docs/performance.md has no row that begins with | `{name}` |"
    assert f'"{name}"' in cases, f'bench/passes.py has no case for "{name}"'


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_is_named_after_its_file(name: str) -> None:
    assert (ROOT / f"finch_core/optimize/{name}.py").exists()
    assert dict(PASSES)[name].__name__ == name


@pytest.mark.parametrize("name", NAMES)
def test_what_a_pass_keeps_is_tested(name: str) -> None:
    """Random assembly is changed by it, or a test of its own runs what it has changed."""
    others = set(NAMES) - {name}
    if any(optimize(block, others) is not block for block in map(random_block, range(60))):
        return
    path = ROOT / "tests/pure" / MEANING.format(ELSEWHERE.get(name, name))
    assert path.exists(), f"random assembly does not reach {name}: {path.name} has to run blocks"
    text = path.read_text()
    assert f'"{name}"' in text
    assert "run_block(" in text


def test_rules_of_lowering_are_those_that_are_asked_for():
    """``ctx.allows("name")`` and ``"name" in disabled``, in the core and in the formats."""
    pattern = re.compile(r'\.allows\(\s*"(\w+)"|"(\w+)" (?:not )?in \S*disabled')
    asked: set[str] = set()
    for package in ("finch_core", "finch_levels", "finch_wrappers"):
        for path in (ROOT / package).rglob("*.py"):
            asked |= {one or other for one, other in pattern.findall(path.read_text())}
    assert asked == LOWERING_RULES


def test_the_page_names_the_file_of_each_rule_that_can_be_switched_off() -> None:
    for row in (ROOT / "docs/performance.md").read_text().splitlines():
        for rule in re.findall(r"\(`(\w+)`\)", row):
            files = re.findall(r"`(finch_\w+/[\w/]+\.py)`", row)
            text = "".join((ROOT / file).read_text() for file in files)
            assert not files or re.search(rf"\b{rule}\b", text), f"{rule} is not in {files}"
