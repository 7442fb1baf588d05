"""The choice of a backend, on made-up entry points."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import Any

import pytest

from finch_core.errors import BackendError
from finch_core.interface.abi import CompleteBackend
from finch_core.interface.discovery import EntryPoint
from finch_core.ir.assembly import Block, Kernel
from finch_core.runtime import sources
from finch_core.runtime.backends import GROUP, Backends

LOADED: list[str] = []


class Fake:
    """A backend that is available unless its name ends with ``_broken``."""

    def __init__(self, name: str) -> None:
        LOADED.append(name)
        self.name = name

    def available(self) -> str:
        return "no compiler" if self.name.endswith("_broken") else ""

    def compile(self, kernel, *, key=""): ...
    def load(self, key, params): ...


def c():
    return Fake("c")


def other():
    return Fake("other")


def interpreter():
    return Fake("interpreter")


def c_broken():
    return Fake("c_broken")


def incomplete():
    return object()


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FINCH_BACKEND", raising=False)
    LOADED.clear()


def installed(**functions: str) -> Backends:
    import sys

    # the entry points of this very module, which pytest imports under a name of its own
    sys.modules["backends_under_test"] = sys.modules[__name__]
    entries = [
        EntryPoint(name, f"backends_under_test:{function}", GROUP)
        for name, function in functions.items()
    ]
    return Backends(entries)


def test_c_is_preferred_and_nothing_else_is_loaded() -> None:
    made = installed(interpreter="interpreter", c="c", another="other")
    assert made.choose().backend.name == "c"
    assert LOADED == ["c"]


def test_another_compiled_backend_comes_before_the_interpreter() -> None:
    made = installed(interpreter="interpreter", c="c_broken", another="other")
    choice = made.choose()
    assert choice.backend.name == "other"
    assert choice.refused == ("the backend 'c' cannot be used here: no compiler",)


def test_the_interpreter_is_last() -> None:
    assert installed(interpreter="interpreter", c="c_broken").choose().backend.name == "interpreter"


def test_the_environment_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    made = installed(interpreter="interpreter", c="c")
    assert made.choose().backend.name == "c"
    monkeypatch.setenv("FINCH_BACKEND", "interpreter")
    assert made.choose().backend.name == "interpreter"
    assert made.choose("c").backend.name == "c"


def test_a_named_backend_is_never_replaced() -> None:
    made = installed(interpreter="interpreter", c="c_broken")
    with pytest.raises(BackendError, match="'c' cannot be used here: no compiler"):
        made.choose("c")


def test_an_unknown_backend_lists_what_is_installed() -> None:
    with pytest.raises(BackendError, match="no backend 'd'\n.*installed: 'c' .*'interpreter'"):
        installed(interpreter="interpreter", c="c").choose("d")


def test_a_backend_that_lacks_methods_is_refused() -> None:
    with pytest.raises(BackendError, match="'c' .* lacks available, compile, load"):
        installed(c="incomplete").choose("c")


def test_a_name_claimed_twice_is_refused() -> None:
    entries = [EntryPoint("c", f"backends_under_test:{f}", GROUP) for f in ("c", "other")]
    with pytest.raises(BackendError, match="the backend name 'c' is claimed by"):
        Backends(entries).choose("c")


def test_an_instance_is_made_once() -> None:
    made = installed(c="c")
    assert made.choose("c").backend is made.choose("c").backend


def test_a_changed_backend_finds_no_old_kernels(tmp_path, monkeypatch):
    package = tmp_path / "changing_backend"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, package.name, import_module(package.name))
    stamps = []
    for text in ("", "changed = True\n"):
        (package / "__init__.py").write_text(text)
        sources._state.cache_clear()
        monkeypatch.setattr(sources, "_BEGAN", time.time_ns() + 10**10)
        stamps.append(sources.state(f"{package.name}.module"))
    sources._state.cache_clear()
    assert stamps[0] != stamps[1]


@pytest.mark.parametrize(
    ("method", "what"),
    [
        ("compile", "does not compile the kernel 'spmv'"),
        ("load", "does not load a kernel that it has kept"),
    ],
)
def test_an_exception_of_a_backend_names_it(method: str, what: str) -> None:
    class Strange:
        name = "strange"

        def compile(self, kernel: Any, *, key: str = "") -> Any:
            raise KeyError("p_7")

        def load(self, key: str, params: int) -> Any:
            raise KeyError("p_7")

    complete = CompleteBackend(Strange())
    kernel = Kernel("spmv", (), (), Block(), ())
    arguments: tuple[Any, ...] = (kernel,) if method == "compile" else ("key", 0)
    with pytest.raises(BackendError) as caught:
        getattr(complete, method)(*arguments)
    assert caught.value.message == f"the backend 'strange' {what}: KeyError: 'p_7'"
    assert "FINCH_BACKEND=interpreter" in caught.value.hint
