"""What several rooms need: the packages of ``docs/examples/plugins``, installed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# what is tested is what runs in the end; tests/native/test_c_drafts.py has drafts
os.environ.setdefault("FINCH_DRAFTS", "0")
# loops run on as many threads as a test asks for, also where there are fewer cores
os.environ.setdefault("FINCH_OVERSUBSCRIBE", "1")

SHARE = "FINCH_TESTS_SHARE"
"""The variable that says which part of the tests marked ``sampled`` runs: 1 is all of them."""

PACKAGES = (
    "finch-bitmask",
    "finch-bits",
    "finch-cyclic",
    "finch-float8",
    "finch-lattice",
    "finch-ragged",
    "finch-reciprocal",
    "finch-smtx",
)
EXAMPLES = Path(__file__).parents[1] / "docs/examples/plugins"


def wheel(package: Path, folder: Path) -> Path:
    """The wheel of a package of pure Python, from its pyproject, made without any build tool."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = f"{stem}.dist-info"
    src = package / "src"
    paths = [p for p in sorted(src.rglob("*")) if p.is_file() and "__pycache__" not in p.parts]
    files = {str(path.relative_to(src)): path.read_text() for path in paths}
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    needs = "".join(f"Requires-Dist: {need}\n" for need in project["dependencies"])
    files[f"{info}/METADATA"] = head + needs
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/entry_points.txt"] = "\n".join(
        "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())])
        for group, entries in project["entry-points"].items()
    )
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture(autouse=True, scope="module")
def _objects_of_modules_before_are_not_searched() -> Iterator[None]:
    """Kernels live as long as their module: after some thousand tests a collection of garbage, of
    which many tests ask for one, would search millions of objects for nine seconds."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def build_wheel() -> Callable[[Path, Path], Path]:
    """The function that makes the wheel of a package in a folder."""
    return wheel


@pytest.fixture(scope="session")
def example_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the example packages but the backend."""
    target, built = tmp_path_factory.mktemp("target"), tmp_path_factory.mktemp("wheels")
    wheels = [str(wheel(EXAMPLES / name, built)) for name in PACKAGES]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--disable-pip-version-check", "--target", str(target)]
    done = subprocess.run([*command, *wheels], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


def pytest_configure(config: pytest.Config) -> None:
    what = "sampled(share): this part of the cases of each test, the same ones in each run"
    config.addinivalue_line("markers", f"{what}; {SHARE}=1 runs all")
    gc.set_threshold(200_000, 50, 100)  # of the time of lowering 5 % went into looking for cycles


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is beyond the share of tests that are sampled, drawn by the names of cases:
    those of a function, in whichever class. One case at least remains of each."""
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            name = getattr(item, "originalname", None) or item.name
            cases.setdefault((item.path, name), []).append(item)
    left_out: set[pytest.Item] = set()
    for each in cases.values():
        _kept, *others = sorted(each, key=_drawn)
        left_out.update(item for item in others if _drawn(item) >= _share(item))
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def _share(item: pytest.Item) -> float:
    mark = item.get_closest_marker("sampled")
    assert mark is not None
    return float(os.environ.get(SHARE, mark.args[0]))


def _drawn(item: pytest.Item) -> float:
    return zlib.crc32(item.nodeid.encode()) / 2**32


# Hypothesis wraps the settings of a parametrized test anew for each case, inside the last. After
# a thousand cases in one process, reading them ends in a RecursionError.
_SETTINGS = "_hypothesis_internal_use_settings"


def pytest_runtest_setup(item: pytest.Item) -> None:
    function = getattr(item, "obj", None)
    item.stash[_KEPT] = getattr(function, _SETTINGS, None)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    kept = item.stash.get(_KEPT, None)
    function = getattr(item, "obj", None)
    if kept is not None:
        setattr(getattr(function, "__func__", function), _SETTINGS, kept)


_KEPT = pytest.StashKey[object]()
