"""``python -m finch_core``: what it prints, and its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from finch_core import cli as commands
from finch_core.__main__ import main
from finch_core.interface.discovery import EntryPoint
from finch_core.plugins import Hub
from finch_core.runtime.backends import GROUP, Backends, backend


class Nothing:
    """A kernel that does nothing."""

    source = ""
    adopt = None

    def __call__(self, *args: Any) -> int:
        return 0


class Fake:
    """A backend that tells of itself, and runs everything on the interpreter, or wrongly."""

    name = "c"
    right = True
    reason = ""

    def available(self) -> str:
        return self.reason

    def compile(self, kernel: Any, *, key: str = "") -> Any:
        return backend("interpreter").compile(kernel) if self.right else Nothing()

    def load(self, key: str, params: int) -> None:
        return None

    def describe(self) -> dict[str, str]:
        return {"compiler": "an abacus"}

    def clear_cache(self) -> int:
        return 2


def wrong() -> Fake:
    made = Fake()
    made.right = False
    return made


def unavailable() -> Fake:
    made = Fake()
    made.reason = "beads are missing"
    return made


def broken() -> Fake:
    raise OSError("no table")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FINCH_BACKEND", raising=False)


def installed(**functions: str) -> Backends:
    sys.modules["commands_under_test"] = sys.modules[__name__]
    entries = {"interpreter": "finch_core.reference.interpreter:backend"}
    entries |= {name: f"commands_under_test:{function}" for name, function in functions.items()}
    return Backends([EntryPoint(name, value, GROUP) for name, value in entries.items()])


def test_plugins_are_listed_with_what_they_register(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (dense,) = [line.split() for line in lines if line.startswith("dense ")]
    assert dense[:2] + dense[3:] == ["dense", "finch-python", "Dense"]
    assert lines[-1] == f"{len(lines) - 2} plugins, 0 failed"


def test_a_plugin_that_fails_is_told_and_sets_the_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Hub.discover(
        [EntryPoint("lost", "no_such_module", "finch.plugins"),
         EntryPoint("dense", "finch_levels.dense", "finch.plugins")]
    )  # fmt: skip
    monkeypatch.setattr(commands, "hub", lambda: made)
    assert main(["plugins"]) == 1
    out = capsys.readouterr().out
    assert "FAILED: it does not load: ModuleNotFoundError: No module named 'no_such_module'" in out
    assert "2 plugins, 1 failed" in out
    assert not commands.doctor().well
    assert any("  lost (" in line for line in commands.doctor().lines)


def test_an_observer_registers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from finch_core.plugins import hookimpl

    @hookimpl
    def finch_after_stage(stage: str) -> None: ...

    made = Hub()
    made.register(types.SimpleNamespace(finch_after_stage=finch_after_stage), "watcher")
    monkeypatch.setattr(commands, "hub", lambda: made)
    report = commands.plugins()
    assert report.lines == (
        "watcher  (registered by hand) 0  (observes)", "", "1 plugin, 0 failed",
    )  # fmt: skip


def test_the_doctor_compiles_a_kernel_and_says_on_what(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "backend 'interpreter': available" in out
    assert "its result is right" in out
    assert "chosen: '" in out


def test_the_doctor_shows_what_a_backend_tells_of_itself() -> None:
    report = commands.doctor(installed(c="Fake"))
    assert report.well
    assert report.lines[1:3] == ("backend 'c': available", "  compiler: an abacus")
    assert "chosen: 'c': none was named, and 'c' is the first choice" in report.lines


def test_the_doctor_says_why_a_backend_was_passed_over() -> None:
    report = commands.doctor(installed(c="unavailable"))
    assert report.well
    assert "backend 'c': not available: beads are missing" in report.lines
    text = "\n".join(report.lines)
    assert "'interpreter' is the best that is available" in text
    assert "  not taken: the backend 'c' cannot be used here: beads are missing" in text


def test_a_backend_that_is_broken_stops_no_other() -> None:
    report = commands.doctor(installed(other="broken"))
    assert report.well
    assert any("does not load: OSError: no table" in line for line in report.lines)


def test_a_wrong_result_is_noticed() -> None:
    report = commands.doctor(installed(c="wrong"))
    assert not report.well
    assert report.lines[-1] == "kernel: wrong: status 0, the sum of 0 to 3 is 0.0"


def test_a_named_backend_that_is_not_there_is_an_illness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINCH_BACKEND", "abacus")
    report = commands.doctor(installed(c="Fake"))
    assert not report.well
    assert any("chosen: none: there is no backend 'abacus'" in line for line in report.lines)


def test_the_cache_is_cleared_by_the_backends_that_have_one() -> None:
    report = commands.clear_cache(installed(c="Fake"))
    assert report == commands.Report(("backend 'c': 2 files removed",))
    broken = commands.clear_cache(installed(c="broken"))
    assert not broken.well
    assert "not cleared" in broken.lines[0]


def test_the_process_ends_with_the_status(tmp_path: Path) -> None:
    env = {**os.environ, "FINCH_CACHE_DIR": str(tmp_path / "cache")}
    cleared = module("cache", "clear", **env)
    assert (cleared.returncode, cleared.stderr) == (0, "")
    assert "0 files removed" in cleared.stdout
    assert module("doctor", **{**env, "FINCH_BACKEND": "abacus"}).returncode == 1
    assert module("purge", **env).returncode == 2


def module(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-W", "error", "-m", "finch_core", *command]
    return subprocess.run(whole, capture_output=True, text=True, env=env, timeout=120)
