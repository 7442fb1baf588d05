"""The floor plan shows the floors that there are, and fits one screen."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLAN = (ROOT / "docs/floorplan.md").read_text()
CORE = ROOT / "finch_core"


def folders() -> list[str]:
    return sorted(path.name for path in CORE.iterdir() if (path / "__init__.py").exists())


def test_every_floor_has_its_line_and_no_other_has() -> None:
    rows = re.findall(r"^\| `finch_core/(\w+)` \|", PLAN, re.MULTILINE)
    assert sorted(rows) == folders()


def test_the_drawing_shows_every_floor() -> None:
    drawing = PLAN.split("```")[1]
    assert re.findall(r"│ (\w+) ", drawing) == re.findall(r"^\| `finch_core/(\w+)` \|", PLAN, re.M)


def test_the_ways_go_through_files_that_are_there() -> None:
    ways = PLAN[PLAN.index("**The way of a kernel**") :]
    paths = re.findall(r"`([\w/]+\.py)`", ways)
    assert len(paths) > 15
    assert [p for p in paths if not (CORE / p).exists() and not (ROOT / p).exists()] == []


def test_the_plan_fits_one_screen() -> None:
    assert len(PLAN.splitlines()) <= 60
