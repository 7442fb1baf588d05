"""Plugins written for version 1 of the interface keep working unchanged.

``version_1`` has a format, a wrapper, a mask, an operator, a rule, observers and a backend as they
were when version 1 was all there was, and the names and signatures on which its pages and examples
relied (``signatures.txt``; ``?``: may be left out, ``!``: by name alone, ``*``: any number). They
are not brought up to date: a test that fails here says that ``OLDEST_INTERFACE`` goes up, or that
what it names is kept.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_core.plugins import OLDEST_INTERFACE, hub
from finch_levels import Dense, Element, Scalar, SparseHash, SparseList

pytestmark = pytest.mark.filterwarnings("ignore:.*since version 2:DeprecationWarning")
FOLDER = Path(__file__).parent / "version_1"
SIGNATURES = (FOLDER / "signatures.txt").read_text().split()
PLUGINS = ("flags_format", "reflect_wrapper", "block_cyclic_mask", "exponentials", "observers")


def test_version_1_is_supported() -> None:
    """When it is no longer, this file and its folder go."""
    assert OLDEST_INTERFACE == 1


# -- names and signatures -------------------------------------------------------------------


def found(path: str) -> Any:
    """What a name of version 1 stands for now."""
    module, names = path, []
    while True:
        try:
            value: Any = importlib.import_module(module)
            break
        except ModuleNotFoundError:
            module, _, name = module.rpartition(".")
            names.insert(0, name)
    for name in names:
        attributes = [vars(base) for base in value.__mro__] if inspect.isclass(value) else []
        raw = next((found[name] for found in attributes if name in found), None)
        value = raw if raw is not None else getattr(value, name)
    return value.__func__ if isinstance(value, (classmethod, staticmethod)) else value


def broken(wanted: list[str], present: list[inspect.Parameter]) -> str:
    """Why a call as in version 1 is none now; empty if it is one."""
    by_name = {p.name: p for p in present}
    many = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in present)
    for k, text in enumerate(wanted):
        name = text.strip("*!?")
        if text.startswith("*"):
            if not many:
                return f"{text} is gone"
        elif text.startswith("!"):
            if name not in by_name and not many:
                return f"{name} is gone"
        elif k >= len(present) or present[k].name != name:
            return f"{name} is not parameter {k}"
        elif text.endswith("?") and present[k].default is inspect.Parameter.empty:
            return f"{name} may not be left out"
    known = {text.strip("*!?") for text in wanted}
    more = [
        p.name
        for p in present
        if p.name not in known
        and p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    return f"{more} must be given" if more else ""


OTHERWISE = {
    "finch_core.context.Context": "the compiler makes it",
    "finch_core.level.Format.entries": "it is asked for in the former way, as a plugin here sees",
}
"""Signatures that have changed, and why no plugin breaks."""


def test_every_name_is_there_and_is_called_as_before() -> None:
    wrong = {}
    for line in SIGNATURES:
        path, is_called, parameters = line.partition("(")
        try:
            value = found(path)
            present = list(inspect.signature(value).parameters.values()) if is_called else []
        except (AttributeError, ModuleNotFoundError, TypeError, ValueError) as error:
            wrong[path] = str(error)
            continue
        wanted = [text for text in parameters.rstrip(")").split(",") if text]
        why = broken(wanted, present) if is_called else ""
        if why and path not in OTHERWISE:
            wrong[path] = why
    assert not wrong


@pytest.mark.parametrize(
    ("wanted", "now", "why"),
    [
        ("a,b?", lambda a, b=1, c=2: 0, ""),
        ("a,b?", lambda a: 0, "b is not parameter 1"),
        ("a,b", lambda b, a: 0, "a is not parameter 0"),
        ("a?", lambda a: 0, "a may not be left out"),
        ("a", lambda a, b: 0, "['b'] must be given"),
        ("!a?", lambda b=1: 0, "a is gone"),
        ("*a", lambda a: 0, "*a is gone"),
    ],
)
def test_what_breaks_a_call_is_seen(wanted: str, now: Any, why: str) -> None:
    assert broken(wanted.split(","), list(inspect.signature(now).parameters.values())) == why


# -- plugins --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plugins() -> Iterator[dict[str, Any]]:
    """The plugins of version 1, registered."""
    sys.path.insert(0, str(FOLDER))
    with pytest.warns(DeprecationWarning, match="since version 2"):
        loaded = {name: importlib.import_module(name) for name in (*PLUGINS, "python_backend")}
    for name in PLUGINS:
        hub().register(loaded[name], name)
    yield loaded
    for name in PLUGINS:
        hub().unregister(name)
    sys.path.remove(str(FOLDER))


@kernel(backend="interpreter")
def dot(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[i] * b[i]
    return s


DATA = np.array([0.0, 3.0, 0.0, 4.0, 1.0])


@pytest.mark.parametrize("name", ["Flags", "Counted"])
def test_a_format(plugins: dict[str, Any], name: str) -> None:
    a = Tensor(getattr(plugins["flags_format"], name)(Element(0.0)), DATA)
    assert a.buffers["0_flag"].tolist() == [False, True, False, True, True]
    assert a.nstored == (3 if name == "Counted" else 5)
    assert dot(Scalar(0.0), a, Tensor(SparseList(Element(0.0)), DATA)).value == 26.0
    assert dot(Scalar(0.0), DATA, a).value == 26.0
    assert a.to(Dense(Element(0.0))).to_numpy().tolist() == DATA.tolist()


def test_a_wrapper(plugins: dict[str, Any]) -> None:
    reflect = plugins["reflect_wrapper"].reflect
    a = Tensor(SparseHash(Element(0.0)), DATA)
    assert dot(Scalar(0.0), DATA, reflect(a, 4)).value == DATA @ DATA[::-1]


def test_a_mask_and_its_condition(plugins: dict[str, Any]) -> None:
    mask = plugins["block_cyclic_mask"].BlockCyclicMask(1, 2, 1)
    assert dot(Scalar(0.0), DATA, mask).value == DATA[1::2].sum()

    @kernel(backend="interpreter")
    def dealt(s, a):
        s[...] = 0
        for i in _:
            if (i // 1) % 2 == 1:
                s[()] += a[i]
        return s

    assert dealt(Scalar(0.0), DATA).value == DATA[1::2].sum()


def test_an_operator(plugins: dict[str, Any]) -> None:
    operator = plugins["exponentials"].log_add_exp

    @kernel(backend="interpreter")
    def total(s, a):
        s[...] = -np.inf
        for i in _:
            s[()] = operator(s[()], a[i])
        return s

    assert np.isclose(total(Scalar(-np.inf), DATA).value, np.log(np.exp(DATA).sum()))


def test_a_rule_and_observers(plugins: dict[str, Any]) -> None:
    @kernel(backend="interpreter")
    def doubled(y, a):
        for i in _:
            y[i] = a[i] + a[i]
        return y

    plugins["observers"].seen.clear()
    assert doubled(np.zeros(5), DATA).tolist() == (2 * DATA).tolist()
    seen = plugins["observers"].seen
    assert ("doubled", "assembly") in seen
    assert any(event[0] == "doubled" and len(event) == 3 for event in map(tuple, seen))


def test_a_backend(plugins: dict[str, Any]) -> None:
    y, x = np.zeros(5), Tensor(SparseList(Element(0.0)), DATA)

    @kernel(backend="interpreter")
    def scaled(y, x):
        for i in _:
            y[i] += 2 * x[i]
        return y

    compiled = plugins["python_backend"].backend().compile(scaled.lower(y, x).kernel)
    control, out = np.zeros(16, np.int64), Tensor(Dense(Element(0.0)), y)
    words = [word for tensor in (out, x) for word in tensor.words()]
    assert compiled(control.ctypes.data, *words) == 0
    assert out.to_numpy().tolist() == (2 * DATA).tolist()
