"""A backend from outside the tree, installed as a stranger's: it passes its suite, stands in for a
missing C compiler, and is built on public names alone."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "docs/examples/plugins/finch-llvm"
PARITY = Path(__file__).parents[1] / "parity"
SOURCE = PACKAGE / "src/finch_backend_llvm"
PUBLIC = {
    "errors", "interface.abi", "ir.assembly", "ir.common_subexpressions", "ir.dtypes",
    "ir.expansions", "ir.expressions", "ir.primitives", "operators",
}  # fmt: skip
"""The modules of the core that are for backends."""


def wheel(folder: Path) -> Path:
    """The package's wheel, made without a build tool (and so without a network)."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    info = f"{name}-{version}.dist-info"
    files = {f"{SOURCE.name}/{path.name}": path.read_text() for path in SOURCE.glob("*.py")}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/entry_points.txt"] = "".join(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    record = f"{info}/RECORD"
    files[record] = "".join(f"{path},,\n" for path in (*files, record))
    made = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the package."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--disable-pip-version-check", "--target", str(target)]
    done = subprocess.run(
        [*command, str(wheel(tmp_path_factory.mktemp("wheel")))], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return target


def run(site: Path, command: list[str], cache: Path, **environment: str) -> str:
    """What a Python that sees the package prints."""
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH", "")])])
    env = {**os.environ, "PYTHONPATH": path, "FINCH_CACHE_DIR": str(cache), **environment}
    env = {name: value for name, value in env.items() if value}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=env, timeout=1800
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_passes_its_own_suite(site: Path, tmp_path: Path) -> None:
    command = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        str(PACKAGE / "pyproject.toml"),
    ]
    told = run(site, [*command, str(PACKAGE / "tests")], tmp_path)
    assert int(re.search(r"(\d+) passed", told)[1]) > 200
    assert "skipped" not in told


def test_cases_of_tests_of_the_parity_room_pass_on_it(site: Path, tmp_path: Path) -> None:
    """All of them: ``FINCH_BACKEND=llvm python -m pytest tests/parity``, where it is installed."""
    share = {"FINCH_BACKEND": "llvm", "FINCH_TESTS_CASES": "0.4", "FINCH_TESTS_SECONDS": "2"}
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", str(PARITY)]
    told = run(site, command, tmp_path, **share)
    assert int(re.search(r"(\d+) passed", told)[1]) > 100
    assert "skipped" not in told


PROGRAM = """
import sys
import numpy as np
from finch_core import Tensor, kernel
from finch_core.runtime.backends import explain
from finch_levels import Dense, Element, SparseList

@kernel
def spmv(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y

A = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 3.0]])
y = spmv(Tensor(Dense(Element(0.0))), Tensor(Dense(SparseList(Element(0.0))), A), np.ones(3))
print(explain().splitlines()[0], y.to_numpy().tolist(), spmv.stats()["from_disk"])
print(sys.modules["finch_backend_llvm"].__file__)
"""


def test_it_is_chosen_where_there_is_no_c_compiler(site: Path, tmp_path: Path) -> None:
    """No compiler is in sight; a second process finds the kernel on disk."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    empty, cache = tmp_path / "empty", tmp_path / "cache"
    empty.mkdir()
    cache.mkdir(mode=0o700)
    for from_disk in (0, 1):
        told = run(site, [str(program)], cache, PATH=str(empty), CC="", FINCH_BACKEND="")
        first, module = told.splitlines()
        assert first.startswith("backend 'llvm': none was named")
        assert first.endswith(f"[2.0, 0.0, 4.0] {from_disk}")
        assert Path(module).is_relative_to(site)
    told = run(
        site, ["-m", "finch_core", "doctor"], cache, PATH=str(empty), CC="", FINCH_BACKEND=""
    )
    assert "chosen: 'llvm': none was named, and 'llvm' is the best that is available" in told
    assert "not taken: the backend 'c' cannot be used here: no C compiler was found" in told


def imported() -> Iterator[str]:
    """Modules of the project that the package imports."""
    for path in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module or ""


def test_it_is_built_on_what_is_public_for_backends() -> None:
    found = {name for name in imported() if name.startswith("finch_")}
    allowed = {f"finch_core.{module}" for module in PUBLIC}
    foreign = {name for name in found - allowed if name.partition(".")[0] != SOURCE.name}
    assert found & allowed
    assert not foreign
