"""Programs that are nested more deeply than Python's limit on recursion allows."""

import linecache
import sys

import numpy as np
import pytest
from shared_programs import function_of

from finch_core import _, kernel
from finch_core.symbolic.simplifier import Simplifier
from finch_core.testing import backend_names
from finch_levels import Scalar


def made(name, lines):
    text = "\n".join(["def program(s, x):", "    s[...] = 0", "    for i in _:", *lines])
    text += "\n    return s\n"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"_": _}
    exec(compile(text, name, "exec"), scope)
    return scope["program"]


def terms(count):
    return ["        s[()] += " + " + ".join(["x[i]"] * count)]


def variables(count):
    lines = [f"        t{k + 1} = t{k} + 1" for k in range(count)]
    return ["        t0 = x[i]", *lines, f"        s[()] += t{count}"]


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize(
    ("lines", "expected"), [(terms(400), 1200.0), (variables(200), 603.0)], ids=["terms", "lets"]
)
def test_what_is_deep_is_run(backend, lines, expected):
    limit = sys.getrecursionlimit()
    run = kernel(backend=backend)(made(f"<{lines[0][:40]} {len(lines)} {backend}>", lines))
    x = np.ones(3)
    assert run(Scalar(0.0), x).value == expected
    assert run.reference(Scalar(0.0), x) == expected
    lowered = run.lower(Scalar(0.0), x)
    for stage in ("program", "normalized", "assembly", "source"):
        assert lowered.as_text(stage)
    assert sys.getrecursionlimit() == limit


@pytest.fixture
def work(monkeypatch):
    """The calls of the simplifier that lowering a kernel takes."""
    calls, rule = [], Simplifier.expr_rule

    def counted(self, expr):
        calls.append(1)
        return rule(self, expr)

    def lowered(function, *args):
        calls.clear()
        kernel(backend="interpreter")(function).lower(*args).as_text("assembly")
        return len(calls)

    monkeypatch.setattr(Simplifier, "expr_rule", counted)
    return lowered


def test_the_work_of_lowering_is_linear_in_the_number_of_names(work):
    """Each ``let`` once rewrote all statements after it."""

    def names(count):
        lines = variables(count) + [f"        s[()] += t{k}" for k in range(count)]
        return work(made(f"<{count} names>", lines), Scalar(0.0), np.ones(3))

    assert names(80) < 3 * names(40)


def test_the_work_of_lowering_is_linear_in_the_number_of_operands(work):
    """Each operand's value was once followed by a simplification of all others."""

    def operands(count):
        names = [f"a{k}" for k in range(count)]
        text = f"def total(y, {', '.join(names)}):\n    for i in _:\n        y[i] = "
        text += " + ".join(f"{name}[i]" for name in names) + "\n    return y\n"
        return work(function_of(text), np.zeros(3), *[np.ones(3)] * count)

    assert operands(80) < 3 * operands(40)
