"""A plugin may name the version of the interface that it was made for: one that does not fit is
refused alone, by both versions."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from plugin_support import format_like, plugin

from finch_core.errors import BackendError, PluginError
from finch_core.interface.discovery import EntryPoint
from finch_core.interface.moved import MOVED
from finch_core.plugins import INTERFACE, OLDEST_INTERFACE, Hub
from finch_core.runtime.backends import Backends

NEWER = (
    f"it is made for version {INTERFACE + 1} of the interface of plugins, and this is version "
    f"{INTERFACE}; a newer finch-python has it"
)


def made_for(version: Any, name: str = "Mine") -> Any:
    found = plugin(finch_level_format=lambda: format_like(name))
    found.finch_interface = version
    return found


@pytest.mark.parametrize("version", range(OLDEST_INTERFACE, INTERFACE + 1))
def test_a_plugin_for_a_supported_version_is_taken(version: int) -> None:
    here = Hub()
    here.register(made_for(version), "mine")
    assert list(here.levels) == ["Mine"]


def test_a_plugin_for_a_newer_version_is_refused_alone() -> None:
    here = Hub()
    with pytest.raises(PluginError) as caught:
        here.register(made_for(INTERFACE + 1), "mine")
    assert str(caught.value).startswith(f"the plugin 'mine' (registered by hand): {NEWER}\n")
    here.register(made_for(INTERFACE, "Other"), "other")
    assert list(here.levels) == ["Other"]


def test_a_plugin_for_a_version_that_is_gone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finch_core.interface.versions.OLDEST_INTERFACE", INTERFACE)
    with pytest.raises(PluginError) as caught:
        Hub().register(made_for(INTERFACE - 1), "mine")
    assert caught.value.message == (
        f"the plugin 'mine' (registered by hand): it is made for version {INTERFACE - 1} of the "
        f"interface of plugins, and this is version {INTERFACE}, which takes those from "
        f"{INTERFACE} on; update the plugin"
    )


@pytest.mark.parametrize("version", ["2", 2.0, True, 0, -1, None])
def test_a_version_is_a_number(version: Any) -> None:
    with pytest.raises(PluginError) as caught:
        Hub().register(made_for(version), "mine")
    assert f"finch_interface is {version!r}: it is the number of a version" in str(caught.value)


TEXT = """\
from finch_core.level import Format{import}
from finch_core.plugins import hookimpl

finch_interface{annotation} = {version}

@hookimpl
def finch_after_stage(name, stage): ...

def backend():
    return Backend()

class Backend:
    name = "strange"
    finch_interface = {version}
    def available(self): return ""
    def compile(self, kernel, *, key=""): ...
    def load(self, key, params): ...
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a module for a version, and gives the place where its backend is made."""

    def write(name: str, version: int, more: str = "", annotation: str = "") -> str:
        values = {"import": more, "version": version, "annotation": annotation}
        (tmp_path / f"{name}.py").write_text(TEXT.format(**values))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


def test_an_installed_plugin_is_told_by_its_file_where_it_does_not_load(module: Any) -> None:
    """What it was made for may be why it imports a name that is not there."""
    value = module("made_tomorrow", INTERFACE + 1, ", OfTomorrow", ": int")
    here = Hub.discover([EntryPoint("tomorrow", value, "finch.plugins", "their-formats", "3.0")])
    (entry,) = here.report()
    assert entry.failure == NEWER
    with pytest.raises(PluginError, match=r"'tomorrow' \(their-formats 3.0\): it is made for"):
        here.level("tomorrow")


def test_a_plugin_that_fits_and_does_not_load_says_why(module: Any) -> None:
    value = module("made_today", INTERFACE, ", Absent")
    (entry,) = Hub.discover([EntryPoint("today", value, "finch.plugins")]).report()
    assert entry.failure.startswith("it does not load: ImportError")


@pytest.mark.parametrize(
    ("more", "verb"), [("", "does not fit"), (", OfTomorrow", "does not load")]
)
def test_a_backend_for_a_newer_version_is_refused(module: Any, more: str, verb: str) -> None:
    value = module(f"backend_tomorrow_{len(more)}", INTERFACE + 1, more)
    installed = [EntryPoint("strange", f"{value}:backend", "finch.backends", "their-llvm", "3.0")]
    with pytest.raises(BackendError) as caught:
        Backends(installed).load("strange")
    assert caught.value.message == f"the backend 'strange' (their-llvm 3.0) {verb}: {NEWER}"


def test_a_backend_for_this_version_is_taken(module: Any) -> None:
    value = module("backend_today", INTERFACE)
    installed = [EntryPoint("strange", f"{value}:backend", "finch.backends")]
    assert Backends(installed).load("strange").name == "strange"


@pytest.mark.parametrize("former", sorted(MOVED))
def test_a_former_module_has_its_names_and_warns_of_the_new_one(former: str) -> None:
    module = importlib.import_module(f"finch_core.{former}")
    for target in MOVED[former].split():
        present = importlib.import_module(f"finch_core.{target}")
        own = [
            n for n, v in vars(present).items() if getattr(v, "__module__", "") == present.__name__
        ]
        public = [name for name in own if not name.startswith("_")]
        for name in public[:1]:
            said = rf"finch_core\.{former}\.{name} is finch_core\.[\w.]+\.{name} since version 2"
            with pytest.warns(DeprecationWarning, match=said):
                assert getattr(module, name) is not None


def test_the_warning_is_that_of_the_line_that_imports() -> None:
    with pytest.warns(DeprecationWarning, match="since version 2") as caught:
        from finch_core.binding import Fiber
    assert Fiber.__module__ == "finch_core.interface.tensorlike"
    assert caught[0].filename == __file__
