"""What a type checker says of a user's file: bodies of kernels are accepted, calls are checked."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
USER = Path(__file__).with_name("typed_user.py")


def test_a_checker_reports_the_marked_lines_and_no_others() -> None:
    command = [sys.executable, "-m", "mypy", "--show-error-codes", str(USER)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    found = re.findall(r"typed_user\.py:(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    marked = re.compile(r"  # ([\w-]+)$")
    lines = enumerate(USER.read_text().splitlines(), 1)
    wanted = [(str(k), kind[1]) for k, line in lines if (kind := marked.search(line))]
    assert wanted
    assert found == wanted, done.stdout + done.stderr


def test_the_file_means_what_it_says() -> None:
    names: dict[str, object] = {"__file__": str(USER), "__name__": "typed_user"}
    exec(compile(USER.read_text().partition("# mistakes")[0], str(USER), "exec"), names)
    np.testing.assert_array_equal(names["array"], np.ones(3))  # type: ignore[arg-type]
    assert names["value"] == 6.0
