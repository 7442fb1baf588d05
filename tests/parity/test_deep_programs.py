"""Programs that are nested more deeply than Python's limit on recursion allows."""

import linecache
import sys

import numpy as np
import pytest

from finch_core import _, kernel
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
