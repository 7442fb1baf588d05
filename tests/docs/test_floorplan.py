"""The floor plan shows the floors that there are, and fits one screen."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from finch_core.lower.passes import PASSES

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


CALL = """
import os, sys
import numpy as np
import finch_core
from finch_core import Tensor, _, kernel
from finch_levels import Dense, Element, SparseByteMap, SparseList

def spmv(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y

def note(frame, event, value):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>":
        entered.setdefault(code.co_filename)

entered = {}
core = os.path.dirname(finch_core.__file__)
A = Tensor(Dense(SparseList(Element(0.0))), np.eye(3))
Tensor(Dense(SparseByteMap(Element(0.0))), np.eye(3))  # by a kernel: all modules are imported
operands = Tensor(Dense(Element(0.0))), A, np.ones(3)
sys.setprofile(note)
kernel(backend="c")(spmv)(*operands)
sys.setprofile(None)
print(*entered, sep="\\n")
"""


def test_a_call_enters_the_files_of_the_way_in_this_order(tmp_path: Path) -> None:
    way = PLAN[PLAN.index("**The way of a kernel**") : PLAN.index("**The way of a tensor**")]
    told = re.findall(r"`([\w/]+\.py)`", way)
    script, cache = tmp_path / "call.py", tmp_path / "cache"
    script.write_text(CALL)
    cache.mkdir(0o700)
    given = {**os.environ, "FINCH_CACHE_DIR": str(cache), "FINCH_DRAFTS": "0"}
    done = subprocess.run([sys.executable, script], env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    entered = [str(Path(line)) for line in done.stdout.splitlines()]
    places = [
        next((k for k, path in enumerate(entered) if path.endswith(f"/{name}")), -1)
        for name in told
    ]
    assert [name for name, k in zip(told, places, strict=True) if k < 0] == []
    assert [told[k] for k in range(1, len(told)) if places[k] < places[k - 1]] == []


def test_the_way_has_every_pass_to_normal_form() -> None:
    files = dict.fromkeys(f"{p.__module__.partition('.')[2].replace('.', '/')}.py" for p in PASSES)
    found = re.findall(r"`(lower/\w+\.py)`", PLAN[PLAN.index("**The way of a kernel**") :])
    assert [name for name in found if name in files] == list(files)


def test_the_plan_fits_one_screen() -> None:
    assert len(PLAN.splitlines()) <= 60
