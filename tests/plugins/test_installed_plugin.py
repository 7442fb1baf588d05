"""A stranger's distribution, built and installed: it works, or its failure names it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

GOOD = """
import attrs
from finch_core.level import Format, check_child
from finch_core.plugins import hookimpl

@attrs.frozen
class {name}(Format):
    lvl: Format = attrs.field(converter=check_child)
    def declare(self, ctx, lvl, init): ...
    def assemble(self, ctx, lvl, start, stop): ...
    def freeze(self, ctx, lvl, stop): ...
    def thaw(self, ctx, lvl, stop): ...
    def unfurl(self, ctx, fiber, mode, protocol): ...
    def sizes(self, positions, shape, fields): ...

@hookimpl
def finch_level_format():
    return {name}
"""

MODULES = {
    "stranger_good": GOOD.format(name="Ragged"),
    "stranger_unimportable": "import a_module_that_is_not_there",
    "stranger_exits": "raise SystemExit('enough')",
    "stranger_lacking": GOOD.format(name="Lacking").replace(
        "    def freeze(self, ctx, lvl, stop): ...\n", ""
    ),
    "stranger_signature": (
        "from finch_core.plugins import hookimpl\n\n"
        "@hookimpl\ndef finch_after_stage(name, stage, text): ...\n"
    ),
    "stranger_misspelt": (
        "from finch_core.plugins import hookimpl\n\n@hookimpl\ndef finch_level_fromat(): ...\n"
    ),
    "a_clash": GOOD.format(name="Dense"),
    "a_layout": GOOD.format(name="Bricks").replace("    lvl:", '    layout = "dense"\n    lvl:'),
    "stranger_early": "from finch_core.plugins import hub\nhub()",
    "stranger_entry": GOOD.format(name="Entry"),
}

ENTRY_POINTS = """
[finch.plugins]
{entries}

[finch.backends]
strange = stranger_backend:backend
broken = stranger_backend:nothing
"""

BACKEND = """
class Backend:
    name = "strange"
    def available(self): return "the moon is not full"
    def compile(self, kernel, *, key=""): ...
    def load(self, key, params): ...

backend = Backend
"""


def wheel(folder: Path) -> Path:
    """A wheel of the stranger's distribution, made without any build tool."""
    entries = [f"{name} = {name}" for name in MODULES if name != "stranger_entry"]
    entries.append("dense = stranger_entry")
    info = "strange_formats-2.7.dist-info"
    files = {f"{name}.py": text for name, text in MODULES.items()}
    files["stranger_backend.py"] = BACKEND
    files[f"{info}/METADATA"] = "Metadata-Version: 2.1\nName: strange-formats\nVersion: 2.7\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/entry_points.txt"] = ENTRY_POINTS.format(entries="\n".join(entries))
    record = f"{info}/RECORD"
    files[record] = "".join(f"{name},,\n" for name in (*files, record))
    path = folder / "strange_formats-2.7-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed a distribution with good and bad plugins."""
    target = tmp_path_factory.mktemp("target")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--disable-pip-version-check", "--target", str(target)]
    built = wheel(tmp_path_factory.mktemp("wheel"))
    done = subprocess.run([*command, str(built)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


def run(site: Path, program: str, **environment: str) -> Any:
    """What ``program`` prints as JSON, in a process that sees the stranger's distribution."""
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    env = {**os.environ, "PYTHONPATH": path, **environment}
    env = {name: value for name, value in env.items() if value}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


LOOK_UP = """
import json
from finch_core.plugins import hub
from finch_core.errors import PluginError
try:
    hub().level({name!r})
    print(json.dumps(""))
except PluginError as error:
    print(json.dumps(str(error)))
"""


@pytest.fixture(scope="session")
def report(site: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The hub's report in a process that sees the stranger's distribution, by name and owner."""
    program = (
        "import json, attrs; from finch_core.plugins import hub\n"
        "print(json.dumps([attrs.asdict(e) for e in hub().report()]))"
    )
    return {(e["name"], e["distribution"]): e for e in run(site, program)}


def test_the_good_plugin_stands_beside_the_built_in_ones(report: Any) -> None:
    entry = report["stranger_good", "strange-formats"]
    assert (entry["version"], entry["registers"], entry["failure"]) == ("2.7", ["Ragged"], "")
    assert report["dense", "finch-python"]["failure"] == ""


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("stranger_unimportable", "No module named 'a_module_that_is_not_there'"),
        ("stranger_exits", "it does not load: SystemExit: enough"),
        ("stranger_lacking", "the level format 'Lacking' lacks the method 'freeze'"),
        ("stranger_signature", "a hook has the wrong signature"),
        ("stranger_misspelt", "did you mean 'finch_level_format'"),
        ("stranger_early", "a plugin asks for the hub while the hub loads it"),
        ("a_clash", "the level format 'Dense' is taken by 'dense' (finch-python "),
        (
            "a_layout",
            "the layout 'dense' of the level format 'Bricks' is that of 'Dense' of 'dense'",
        ),
        ("dense", "the plugin name is taken by 'dense' (finch-python "),
    ],
)
def test_a_bad_plugin_is_reported_and_refused_by_name(
    site: Path, report: Any, name: str, reason: str
) -> None:
    assert reason in report[name, "strange-formats"]["failure"]
    message = run(site, LOOK_UP.format(name=name))
    assert f"{name!r} (strange-formats 2.7): " in message
    assert reason in message


def test_a_clash_harms_the_newcomer_alone(site: Path) -> None:
    """Both sort before the built-in format; it keeps its name and its layout, and works."""
    program = """
import json
import numpy as np
from finch_core import Tensor
from finch_core.plugins import hub
from finch_levels import Dense, Element
told = Tensor(Dense(Element(0.0)), np.arange(3.0)).to_numpy().tolist()
print(json.dumps([told, hub().level("Dense") is Dense, hub().layout("dense") is Dense]))
"""
    assert run(site, program) == [[0.0, 1.0, 2.0], True, True]


def test_an_unknown_name_lists_the_plugins_that_failed(site: Path) -> None:
    message = run(site, LOOK_UP.format(name="Lacking"))
    assert "there is no level format 'Lacking'" in message
    assert "'stranger_lacking' (strange-formats 2.7): the level format 'Lacking' lacks" in message


def test_bad_plugins_stop_no_other(report: Any) -> None:
    ours = [e for (_, owner), e in report.items() if owner == "finch-python"]
    assert ours
    assert not [e for e in ours if e["failure"]]


def test_a_backend_that_is_named_is_used_or_refused(site: Path) -> None:
    program = """
import json
from finch_core.runtime.backends import backend
from finch_core.errors import BackendError
def told(*name):
    try:
        return backend(*name).name
    except BackendError as error:
        return str(error)
print(json.dumps([told("interpreter"), told("strange"), told("broken"), told("fortran"), told()]))
"""
    found, strange, broken, fortran, variable = run(site, program, FINCH_BACKEND="strange")
    assert found == "interpreter"
    assert strange == variable
    assert "the backend 'strange' cannot be used here: the moon is not full" in strange
    assert "'broken' (strange-formats 2.7) does not load: AttributeError" in broken
    assert "there is no backend 'fortran'" in fortran
    assert "'strange' (strange-formats 2.7)" in fortran
