"""The marker ``sampled``: each run has the same part of the cases, one of each test at least."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TESTS = """
import pytest

@pytest.mark.sampled(0.4)
@pytest.mark.parametrize("k", range(200))
def test_many(k): pass

@pytest.mark.sampled(0.0)
@pytest.mark.parametrize("k", range(5))
def test_few(k): pass

@pytest.mark.parametrize("k", range(7))
def test_all(k): pass
"""


def collected(folder: Path, share: str | None = None) -> list[str]:
    environment = {k: v for k, v in os.environ.items() if k != "FINCH_TESTS_SHARE"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "."],
        cwd=folder,
        env=environment if share is None else {**environment, "FINCH_TESTS_SHARE": share},
        capture_output=True,
        text=True,
        check=False,
    )
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_a_part_of_the_cases_runs(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_drawn.py").write_text(TESTS)
    found = collected(tmp_path)
    counts = [sum(name in line for line in found) for name in ("_many", "_few", "_all")]
    assert 50 <= counts[0] <= 110
    assert counts[1:] == [1, 7]
    assert collected(tmp_path) == found
    assert len(collected(tmp_path, "1")) == 212
