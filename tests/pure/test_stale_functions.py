"""A kernel means what the functions that it calls mean now, as notebooks define them again."""

import importlib
import sys

import numpy as np
import pytest

from finch_core import _, kernel
from finch_core.frontend.user_operators import define_operator


@pytest.fixture(autouse=True, params=[1, 1000], ids=["compiled", "walked"])
def compared(request, monkeypatch):
    """What a program depends on is compared by compiled code, or one by one."""
    monkeypatch.setattr("finch_core.frontend.seen.MANY", request.param)


NOTEBOOK = """
import helpers
from finch_core import _, kernel
from finch_core.frontend.user_operators import define_operator

CUBE = helpers.cube

def inner(a):
    return a + 1

def outer(a):
    return inner(a) * 2

@define_operator
def combined(a, b):
    return inner(a) + b

@kernel(backend="interpreter")
def inlined(y, x):
    y[...] = 0
    for i in _:
        y[i] = outer(x[i])
    return y

@kernel(backend="interpreter")
def attribute(y, x):
    y[...] = 0
    for i in _:
        y[i] = helpers.cube(x[i])
    return y

@kernel(backend="interpreter")
def named(y, x):
    y[...] = 0
    for i in _:
        y[i] = CUBE(x[i])
    return y

@kernel(backend="interpreter")
def reduced(y, x):
    y[...] = 0
    for i in _:
        y[i] = outer_two(y[i], x[i])
    return y

@kernel(backend="interpreter")
def operated(y, x):
    y[...] = 0
    for i in _:
        y[i] = combined(x[i], 0.5)
    return y

@kernel(backend="interpreter")
def smallest(y, x):
    y[...] = 0
    for i in _:
        y[i] = min(x[i], 1.0)
    return y

def outer_two(a, b):
    return inner(a) + b

def made(factor):
    def scaled(a):
        return a * factor
    def change(value):
        nonlocal factor
        factor = value
    @kernel(backend="interpreter")
    def closure(y, x):
        y[...] = 0
        for i in _:
            y[i] = scaled(x[i])
        return y
    return closure, change
"""


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A module whose names are bound again, as cells of a notebook do."""
    (tmp_path / "helpers.py").write_text("def cube(a):\n    return a * a * a\n")
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("notebook")
    yield module
    del sys.modules["notebook"], sys.modules["helpers"]


def value(program):
    """What a kernel and its reference give for 2."""
    x = np.array([2.0])
    found = program(np.zeros(1), x)[0]
    assert found == program(np.zeros(1), x)[0] == program.reference(np.zeros(1), x)[0]
    return found


def again(notebook, text, name="cell"):
    """Run a cell that defines something anew."""
    import linecache

    lines = text.splitlines(keepends=True)
    linecache.cache[f"<{name}>"] = (len(text), None, lines, f"<{name}>")
    exec(compile(text, f"<{name}>", "exec"), vars(notebook))


@pytest.mark.parametrize(
    ("program", "before", "cell", "after"),
    [
        ("inlined", 6, "def outer(a):\n    return a * 100\n", 200),
        ("inlined", 6, "def inner(a):\n    return a + 10\n", 24),
        ("named", 8, "CUBE = abs\n", 2),
        ("attribute", 8, "helpers.cube = abs\n", 2),
        ("attribute", 8, "def sixth(a):\n    return a ** 6\nhelpers = type(helpers)('other')\n"
                         "helpers.cube = sixth\n", 64),
        ("reduced", 3, "def inner(a):\n    return a + 5\n", 7),
        ("operated", 3.5, "def inner(a):\n    return a + 5\n", 7.5),
        ("smallest", 1, "min = max\n", 2),
    ],
)  # fmt: skip
def test_what_is_bound_anew_is_noticed(notebook, program, before, cell, after):
    run = getattr(notebook, program)
    assert value(run) == before
    again(notebook, cell)
    assert value(run) == after


def test_a_function_that_is_given_another_body_is_noticed(notebook):
    """As reloaders do, who leave the object."""
    assert value(notebook.inlined) == 6
    again(notebook, "def other(a):\n    return a - 1\n")
    notebook.inner.__code__ = notebook.other.__code__
    assert value(notebook.inlined) == 2


def test_a_variable_of_a_closure_is_noticed(notebook):
    closure, change = notebook.made(3.0)
    assert value(closure) == 6
    change(5.0)
    assert value(closure) == 10


def test_what_has_not_changed_is_compiled_once(notebook):
    for _k in range(3):
        value(notebook.inlined)
    assert notebook.inlined.stats()["signatures"] == 1


def test_a_default_that_changes_is_noticed():
    def shifted(a, by=1.0):
        return a + by

    @kernel(backend="interpreter")
    def run(y, x):
        y[...] = 0
        for i in _:
            y[i] = shifted(x[i])
        return y

    assert value(run) == 3
    shifted.__defaults__ = (4.0,)
    assert value(run) == 6


def test_an_operator_by_itself_means_what_its_function_calls_mean_now(notebook):
    made = define_operator(notebook.outer_two)
    assert made(1.0, 2.0) == 4
    again(notebook, "def inner(a):\n    return a * 10\n")
    assert made(1.0, 2.0) == 12
