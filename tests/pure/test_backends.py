"""The choice of a backend, on made-up entry points."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_core.errors import BackendError
from finch_core.interface.abi import CompleteBackend
from finch_core.interface.discovery import EntryPoint
from finch_core.ir.assembly import Block, Kernel
from finch_core.reference.interpreter import Interpreter
from finch_core.runtime import backends as chosen
from finch_core.runtime import sources
from finch_core.runtime.backends import GROUP, Backends
from finch_levels import Element, SparseList

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


# -- kernels that break the contract ----------------------------------------------------------


class Mistaken(Interpreter):
    """The interpreter, with one member of its kernels in another way."""

    member: str = ""
    function: Any = None

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "name", "mistaken")

    def compile(self, kernel: Kernel, *, key: str = "") -> Any:
        made = super().compile(kernel)
        members = {"source": made.source, "adopt": made.adopt, "__call__": made.__call__}
        members[self.member] = self.function
        static = {name: staticmethod(v) if callable(v) else v for name, v in members.items()}
        return type("Made", (), static)()


def boom(*args: Any) -> Any:
    raise KeyError("p_7")


@pytest.fixture
def mistaken(monkeypatch: pytest.MonkeyPatch) -> type[Mistaken]:
    sys.modules["backends_under_test"] = sys.modules[__name__]
    entry = EntryPoint("mistaken", "backends_under_test:Mistaken", GROUP)
    interpreted = EntryPoint("interpreter", "finch_core.reference.interpreter:Interpreter", GROUP)
    monkeypatch.setattr(chosen, "_backends", Backends([entry, interpreted]))
    return Mistaken


def copied(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]
    return y


@pytest.mark.parametrize(
    ("member", "function", "told"),
    [
        ("__call__", lambda *args: None, "ends a kernel with None, which is no status of it"),
        ("__call__", lambda *args: 99, "ends a kernel with 99, which is no status of it"),
        ("__call__", lambda *args: -5, "ends a kernel with -5, which is no status of it"),
        ("adopt", boom, "does not hand over memory: KeyError: 'p_7'"),
        ("adopt", lambda *args: None, "does not hand over memory: TypeError: "),
        ("adopt", lambda *args: bytearray(1), "hands over 1 bytes of a buffer of "),
    ],
)
def test_what_a_kernel_of_a_backend_gives_is_checked(
    mistaken: type[Mistaken], monkeypatch: pytest.MonkeyPatch, member: str, function: Any, told: str
) -> None:
    """The tensor is valid afterwards, and other backends are as they were."""
    monkeypatch.setattr(mistaken, "member", member)
    monkeypatch.setattr(mistaken, "function", staticmethod(function))
    x = np.array([0.0, 1.0, 2.0])
    y = Tensor(SparseList(Element(0.0)))
    monkeypatch.setenv("FINCH_BACKEND", "interpreter")  # of conversions
    with pytest.raises(BackendError) as caught:
        kernel(backend="mistaken")(copied)(y, x)
    assert caught.value.message.startswith(f"the backend 'mistaken' {told}")
    assert "FINCH_BACKEND=interpreter" in caught.value.hint
    assert kernel(backend="interpreter")(copied)(y, x).to_numpy().tolist() == x.tolist()


def test_what_a_kernel_of_a_backend_raises_is_noted(
    mistaken: type[Mistaken], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exception stays what it is: it may be that of a signal's handler."""
    monkeypatch.setattr(mistaken, "member", "__call__")
    monkeypatch.setattr(mistaken, "function", staticmethod(boom))
    run, args = kernel(backend="mistaken")(copied), (np.zeros(2), np.ones(2))
    for call in (lambda: run(*args), lambda: run.bind(*args)()):
        with pytest.raises(KeyError) as caught:
            call()
        (note,) = caught.value.__notes__
        assert note.startswith("raised while a kernel of the backend 'mistaken' ran; ")


@pytest.mark.parametrize(
    ("available", "told"),
    [
        (boom, "available() failed: KeyError: 'p_7'"),
        (lambda self: None, "available() gives None, not a text"),
    ],
)
def test_a_backend_that_cannot_tell_is_not_available(
    mistaken: type[Mistaken], monkeypatch: pytest.MonkeyPatch, available: Any, told: str
) -> None:
    monkeypatch.setattr(mistaken, "available", available)
    with pytest.raises(BackendError) as caught:
        chosen.backend("mistaken")
    assert caught.value.message == f"the backend 'mistaken' cannot be used here: {told}"
    assert chosen.backend().name == "interpreter"
