"""The packages of ``docs/examples/plugins``: strangers' code, installed beside ours."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs/examples/plugins"
PACKAGES = {
    "finch-bitmask": 50,
    "finch-bits": 50,
    "finch-cyclic": 50,
    "finch-float8": 6,
    "finch-lattice": 30,
    "finch-ragged": 7,
    "finch-reciprocal": 60,
    "finch-smtx": 30,
}
"""Each with the least number of its tests."""
SHARE = os.environ.get("FINCH_TESTS_SHARE", "0.3")
QUICK = {"PYTHONDONTWRITEBYTECODE": "1", "FINCH_CFLAGS": "-O0", "FINCH_TESTS_SHARE": SHARE}
"""What keeps their suites short: quick compiles, and a part of the pairs with other formats; all
of them with ``FINCH_TESTS_SHARE=1``."""
OURS = ("finch_core", "finch_levels", "finch_wrappers", "finch_backend_c")


def run(site: Path, *command: str, cwd: Path = ROOT, **environment: str) -> str:
    """What Python prints, in a process that sees the packages."""
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    env = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=env, cwd=cwd, timeout=1800
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def state() -> str:
    """The contents of all our files."""
    paths = sorted(p for package in OURS for p in (ROOT / package).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


@pytest.mark.parametrize("package", PACKAGES)
def test_its_own_tests_pass_and_change_no_file_of_ours(
    example_site: Path, tmp_path: Path, package: str
) -> None:
    before = state()
    config = ["-c", str(EXAMPLES / package / "pyproject.toml"), "-p", "no:cacheprovider", "-q"]
    tests = str(EXAMPLES / package / "tests")
    printed = run(example_site, "-m", "pytest", *config, tests, cwd=tmp_path, **QUICK)
    assert int(re.search(r"(\d+) passed", printed)[1]) > PACKAGES[package]
    assert "skipped" not in printed
    assert state() == before


def test_the_packages_stand_beside_the_built_in_plugins(example_site: Path) -> None:
    lines = [line.split() for line in run(example_site, "-m", "finch_core", "plugins").splitlines()]
    found = {line[0]: line[1:] for line in lines if line}
    assert found["sparse_bitmap"] == ["finch-bitmask", "1.0.0", "SparseBitmap"]
    assert found["block_cyclic_mask"] == ["finch-cyclic", "1.0.0", "BlockCyclicMask"]
    assert found["exponentials"] == [
        "finch-cyclic", "1.0.0", "log_add_exp,", "log_add_exp_repeated",
    ]  # fmt: skip
    assert found["dense"][0] == "finch-python"
    assert lines[-1][-2:] == ["0", "failed"]


COMPOSE = """
import json
import numpy as np
from finch_bitmask import SparseBitmap
from finch_core import FormatError, Tensor, _, kernel
from finch_core.plugins import hub
from finch_core.testing import admit, array, leaf, level_names, nest


@kernel
def merge(c, a, b):
    c[...] = 0
    for i, j in _:
        c[i, j] = a[i, j] + b[i, j]
    return c

@kernel
def meet(c, a, b):
    c[...] = 0
    for i, j in _:
        c[i, j] = a[i, j] * b[i, j]
    return c

def check(name):
    bits = nest([hub().layout("dense"), SparseBitmap], leaf())
    other = nest([hub().layout("dense"), hub().level(name)], leaf())
    x = admit(other, array((4, 70), float, "half", 1))
    a, y = Tensor(bits, x), array((4, 70), float, "half", 2)
    b = Tensor(other, a)
    assert (b.to_numpy() == x).all() and (b.to(bits).to_numpy() == x).all()
    c = Tensor(bits, y)
    assert (merge(Tensor(bits), b, c).to_numpy() == x + y).all()
    assert (meet(Tensor(bits), b, c).to_numpy() == x * y).all()
    assert (meet(Tensor(bits), c, b).to_numpy() == x * y).all()

names = level_names()
for name in names:
    check(name)
print(json.dumps(names))
"""


def test_the_format_composes_with_every_format(example_site: Path, tmp_path: Path) -> None:
    program = tmp_path / "compose.py"
    program.write_text(COMPOSE)
    names = json.loads(run(example_site, str(program)))
    assert {"Dense", "SparseBitmap", "SparseList", "SparseByteMap"} <= set(names)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_file_of_ours_knows_the_package(package: str) -> None:
    names = {
        "SparseBitmap",
        "EveryMask",
        "BlockCyclicMask",
        "log_add_exp",
        "float8_e5m2",
        "smtx",
        "Ragged",
    }
    names |= {name.replace("-", "_") for name in PACKAGES}
    sources = [p for folder in OURS for p in (ROOT / folder).rglob("*.py")]
    assert sources
    assert [p for p in sources if names & set(re.findall(r"\w+", p.read_text()))] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_depends_on_public_names_alone(package: str) -> None:
    files = sorted((EXAMPLES / package / "src").rglob("*.py"))
    own = package.replace("-", "_")
    allowed = {own, "finch_core", "attrs", "ml_dtypes", "numpy", *sys.stdlib_module_names}
    imports = [found for path in files for found in imported(ast.parse(path.read_text()))]
    assert any(module.startswith("finch_core") for module, _ in imports)
    for module, name in imports:
        assert module.split(".")[0] in allowed
        public = [*module.split("."), name]
        assert not [part for part in public if part.startswith("_") and part != "__future__"]


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Module and name of each import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


WITHOUT_WRAPPERS = """
import json
import sys

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "finch_wrappers":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Gone())

import numpy as np
from finch_core import Tensor, _, kernel
from finch_core.plugins import hub
from finch_levels import Dense, Element, SparseList

@kernel
def spmv(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y

A = np.diag([1.0, 2.0, 3.0])
y = spmv(Tensor(Dense(Element(0.0))), Tensor(Dense(SparseList(Element(0.0))), A), np.ones(3))
failed = [e.name for e in hub().report() if e.failure]
print(json.dumps([y.to_numpy().tolist(), failed, "finch_wrappers" in sys.modules]))
"""


def test_plain_kernels_work_without_the_wrappers(tmp_path: Path) -> None:
    program = tmp_path / "without.py"
    program.write_text(WITHOUT_WRAPPERS)
    values, failed, loaded = json.loads(run(tmp_path, str(program)))
    assert values == [1.0, 2.0, 3.0]
    assert "swizzle" in failed
    assert not [name for name in failed if name in ("dense", "sparse_list", "element")]
    assert not loaded


def test_a_new_plugin_installs_and_passes_its_tests(tmp_path: Path, build_wheel: Any) -> None:
    told = run(tmp_path, "-m", "finch_core", "new-plugin", "finch-ragged", str(tmp_path))
    assert str(tmp_path / "finch-ragged" / "src" / "finch_ragged" / "level.py") in told
    package, site = tmp_path / "finch-ragged", tmp_path / "site"
    built = build_wheel(package, tmp_path)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--disable-pip-version-check", "--target", str(site), str(built)]
    subprocess.run(command, check=True)
    lines = [line.split() for line in run(site, "-m", "finch_core", "plugins").splitlines()]
    assert ["finch_ragged", "finch-ragged", "0.1.0", "Ragged"] in lines
    config = ["-c", str(package / "pyproject.toml"), "-p", "no:cacheprovider", "-q"]
    printed = run(site, "-m", "pytest", *config, str(package / "tests"), cwd=tmp_path, **QUICK)
    assert int(re.search(r"(\d+) passed", printed)[1]) > 50
    checks = ["ruff", "check", "--isolated", "--select", "E,F,I,B,UP", "--line-length", "100"]
    run(site, "-m", *checks, str(package))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Finch", "is not a name"),
        ("a/b", "is not a name"),
        ("there", "exists already"),
        ("finch-1x", "not an identifier"),
        ("finch-dense", "a taken name: Dense is a level format of"),
    ],
)
def test_a_new_plugin_needs_a_free_name(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "there").mkdir()
    command = [sys.executable, "-m", "finch_core", "new-plugin", name, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert why in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
