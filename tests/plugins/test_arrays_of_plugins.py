"""Array functions take a plugin's level as any other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
import numpy as np
import finch_array as fa
from finch_bitmask import SparseBitmap
from finch_core import Tensor
from finch_core.testing import array, leaf, nest
from finch_levels import Dense, RunList, SparseHash, SparseList

FUNCTIONS = {
    "add": lambda x, y: x + y, "scale": lambda x, y: x * 3 - y, "less": lambda x, y: x < 2,
    "matmul": lambda x, y: x @ y.T, "sum": lambda x, y: x.sum(axis=0),
    "largest": lambda x, y: y.max(axis=1), "part": lambda x, y: x[1:3, ::2],
    "row": lambda x, y: y[2], "chosen": lambda x, y: x[[2, 0]],
    "joined": lambda x, y: np.concatenate([x, y]), "flat": lambda x, y: x.reshape((-1,)),
    "fill": lambda x, y: np.cos(x) + y,
}
for outer in (Dense, SparseList, SparseHash):
    x, y = array((4, 70), float, "half", 1), array((4, 70), float, "half", 2)
    A, B = (Tensor(outer(SparseBitmap(leaf())), data) for data in (x, y))
    for name, function in FUNCTIONS.items():
        found, wanted = function(A, B), function(x, y)
        assert np.allclose(np.asarray(found), wanted), (outer, name)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape, (outer, name)
    assert np.allclose(np.asarray(fa.cumulative_sum(A, axis=1)), x.cumsum(1))
    assert (A * 2).format == A.format
    A[1:3, 5] = 7
    x[1:3, 5] = 7
    assert (np.asarray(A) == x).all() and A.format == outer(SparseBitmap(leaf()))
JOINED = {
    "concat": (lambda x: fa.concat([x, x], axis=1), lambda x: np.concatenate([x, x], 1)),
    "rows": (lambda x: fa.concat([x, x]), lambda x: np.concatenate([x, x])),
    "tile": (lambda x: fa.tile(x, (1, 2)), lambda x: np.tile(x, (1, 2))),
    "roll": (lambda x: fa.roll(x, 2, axis=1), lambda x: np.roll(x, 2, 1)),
    "pad": (lambda x: np.pad(x, 1),) * 2,
    "stack": (lambda x: fa.stack([x, x], axis=1), lambda x: np.stack([x, x], 1)),
}
for outer, inner in ((RunList, SparseBitmap), (SparseBitmap, RunList)):
    x = array((4, 70), float, "half", 1)
    A = Tensor(outer(inner(leaf())), x)
    for name, (ours, theirs) in JOINED.items():
        assert np.array_equal(np.asarray(ours(A)), theirs(x)), (outer, inner, name)
print("all agree")
"""


def run(site: Path, *command: str) -> str:
    """What Python prints, in a process that sees the packages at ``site``."""
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    env = {**os.environ, "PYTHONPATH": path, "FINCH_BACKEND": "interpreter"}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=env, cwd=ROOT, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_array_functions_agree_with_numpy(example_site: Path, tmp_path: Path) -> None:
    program = tmp_path / "arrays.py"
    program.write_text(PROGRAM)
    assert run(example_site, str(program)) == "all agree\n"


def test_random_expressions_have_its_level(example_site: Path) -> None:
    printed = run(example_site, "tests/arrays/random_arrays.py", "--count", "30", "--seed", "7")
    assert re.match(r"30 expressions, 0 wrong", printed), printed
