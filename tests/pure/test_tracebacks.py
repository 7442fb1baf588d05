"""A refusal's traceback is that of the user: the call, then the line of the kernel at fault."""

import linecache
import math
import traceback

import numpy as np
import pytest

from finch_core import DimensionMismatch, FinchError, FormatError, LifecycleError, Tensor, kernel
from finch_levels import Element, SparseList


@kernel(backend="interpreter")
def shifted(y):
    for i in _:
        y[i] = math.sqrt(y[i]) + 1


@kernel(backend="interpreter")
def appended(y, x):
    for i in _:
        y[i] += x[i]


@kernel(backend="interpreter")
def unbound(y):
    for i in _:
        y[i] = nothing + 1


STORED = Tensor(SparseList(Element(0.0)), np.ones(3))


def frames_of(error, *args):
    with pytest.raises(FinchError) as found:
        error(*args)
    shown = traceback.extract_tb(found.value.__traceback__)
    return found.value, [(frame.filename.rpartition("/")[2], frame.line) for frame in shown]


@pytest.mark.parametrize(
    ("call", "args", "line"),
    [
        (shifted, (STORED,), "y[i] = math.sqrt(y[i]) + 1"),
        (unbound, (np.ones(3),), "y[i] = nothing + 1"),
        (shifted.lower, (STORED,), "y[i] = math.sqrt(y[i]) + 1"),
        (
            appended,
            (Tensor(SparseList(Element(0.0)), np.ones(3)), np.ones(3)),
            "y[i] += x[i]",
        ),
    ],
)
def test_a_traceback_ends_in_the_line_of_the_kernel(call, args, line):
    for _turn in range(2):
        _error, frames = frames_of(call, *args)
        assert [name for name, _line in frames] == [
            "test_tracebacks.py",
            "kernel.py",
            "test_tracebacks.py",
        ]
        assert frames[-1][1] == line


def test_nothing_else_is_shown():
    error, _frames = frames_of(shifted, STORED)
    text = "".join(traceback.format_exception(error))
    assert "During handling" not in text
    assert text.count("File") == 4  # three frames, and the message


def test_what_has_no_place_ends_in_the_call():
    with pytest.raises(FormatError) as found:
        shifted("no tensor")
    assert len(traceback.extract_tb(found.value.__traceback__)) <= 3


def test_all_of_it_is_kept_on_demand(monkeypatch):
    monkeypatch.setenv("FINCH_TRACEBACK", "1")
    error, frames = frames_of(shifted, STORED)
    assert isinstance(error, LifecycleError)
    assert len(frames) > 6
    assert frames[-1][0] == "lifecycle_checks.py"


CELL = """
@kernel(backend="interpreter")
def copied(y, x):
    for i in _:
        y[i] = x[i]
"""


def test_a_kernel_of_a_notebook_shows_its_line():
    """As notebooks do it: the text of a cell is known by ``linecache``, under a name of its own.
    The place within the code is one that there is, for tools that look it up."""
    name = "<ipython-input-1-0a1b2c3d>"
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(True), name)
    names = {"kernel": kernel}
    exec(compile(CELL, name, "exec"), names)
    with pytest.raises(DimensionMismatch) as found:
        names["copied"](np.zeros(3), np.zeros(4))
    assert found.value.span.show().splitlines()[-2:] == ["    y[i] = x[i]", "           ^^^^"]
    last = found.value.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    assert last.tb_lineno == 5
    assert last.tb_lasti >= 0
    positions = list(last.tb_frame.f_code.co_positions())[last.tb_lasti // 2]
    assert positions == (5, 5, 8, 19)
