"""The lines of a function are those that the standard library finds by reading every token."""

import importlib.util
import inspect

import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend.source import read_source

FILE = """
def one(y): return y
def after_one(y):
    return y
    # a comment that belongs to it

# another that does not
def several_lines(
    y,
    x=(1,
2)):
    y[...] = (x
)
    if x:
        def inner():
            return [
                x
            ]
    return y
def identity(f):
    return f
@identity
@identity
def decorated(y):
    "text"


    return y
class Around:
    def method(y):
        for i in y:
            y[i] += 1
        # a comment
    def dead(y):
        return y
# a comment in the wrong place
        y[...] = (
1)
    value = 1
def only_text(y):
    \"\"\"Text
over lines.\"\"\"
def last(y):
    return y; pass"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "functions_of_all_kinds.py"
    path.write_text(FILE)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


NAMES = ["one", "after_one", "several_lines", "decorated", "method", "dead", "only_text", "last"]


@pytest.mark.parametrize("name", NAMES)
def test_the_lines_of_a_function(module, name):
    function = getattr(module, name, None) or getattr(module.Around, name)
    read = read_source(function)
    expected, first = inspect.getsourcelines(function)
    text = "".join(read.source.lines)
    assert read.source.first_line == first
    assert text.rstrip() == "".join(expected).rstrip() or "#" in "".join(expected[-1:])
    assert read.node.name == name
    assert read.node.end_lineno + read.offset == first + _code_lines(expected) - 1


def _code_lines(lines):
    kept = [n for n, line in enumerate(lines, 1) if line.strip() and line.strip()[0] != "#"]
    return kept[-1]


def test_a_function_without_lines():
    made = {}
    exec("def f(y):\n    return y\n", made)
    with pytest.raises(KernelSyntaxError, match="cannot be read"):
        read_source(made["f"])
