import numpy as np
import pytest
from error_support import refusal

from finch_core import kernel
from finch_core.errors import DimensionMismatch, FormatError, KernelSyntaxError

outer = np.ones(4)


def gives(y, x, n):
    w = np.zeros_like(x)
    for _k in range(n):
        x, w = w, x
    return x


def gives_earlier(y, x, n):
    w = np.zeros_like(x)
    if n > 5:
        return x
    x, w = w, x
    return x


def second_name(y, x, n):
    t = x
    x = y
    y = t
    x[0], y[0] = 1, n


def within(y, x, n):
    for _k in range(n):
        w = np.zeros_like(x)
        x, w = w, x


def followed(y, x, n):
    if n > 2:
        w = np.zeros_like(x)
        x, w = w, x
    y[1] = x[1]


def beside(y, x, n):
    x, y = y, x
    x[0] += y[0]
    if n > 2:
        w = np.zeros_like(x)
        x, w = w, x


def free(y, x, n):
    outer, x = x, outer
    x[0] = 1


def number(y, x, n):
    n += 1
    n, x = x, n
    x[0] = 1


def block(made):
    return (
        f"{made!r} is made within a block, and an argument's name would stand for it when that "
        "has ended",
        f"make {made!r} before, among the kernel's first statements; or write 'swap', which "
        "exchanges contents",
    )


TOLD = {
    gives: (
        "'return' gives 'x', whose name is exchanged with that of another tensor: which one that "
        "is, only the run tells",
        "write 'swap(x, w)', which exchanges contents, those of the caller's arrays too: then 'x' is "
        "one tensor",
    ),
    gives_earlier: (
        "'return' gives 'x', whose name is exchanged with that of another tensor: which one that "
        "is, only the run tells",
        "write 'swap(x, w)', which exchanges contents, those of the caller's arrays too: then 'x' is "
        "one tensor",
    ),
    second_name: (
        "'x' is a tensor, and 't' would be a second name of it",
        "exchange tensors in one statement, 'a, b = b, a'; 't = x.copy()' makes a copy; 'x[i]' is "
        "an element",
    ),
    within: block("w"),
    followed: block("w"),
    beside: block("w"),
    free: (
        "'outer' is a name from outside the kernel, which keeps its meaning",
        "pass it as an argument, or write 'swap', which exchanges contents",
    ),
    number: (
        "'n' is a variable, not a tensor",
        "only tensors and tensors, or numbers and numbers, change places",
    ),
}


@pytest.mark.parametrize("function", TOLD, ids=lambda function: function.__name__)
def test_what_cannot_be_exchanged(function):
    y, x = np.zeros(4), np.arange(4.0)
    with pytest.raises(KernelSyntaxError) as error:
        kernel(function)(y, x, 3)
    assert (error.value.message, error.value.hint) == TOLD[function]
    assert error.value.span is not None
    assert x.tolist() == [0, 1, 2, 3]


@kernel
def exchanged(x, n):
    w = np.zeros(4, dtype=np.int32)
    v = np.zeros(n)
    for _k in range(n):
        x, v = v, x
        w, v = v, w


@kernel
def longer(x, n):
    v = np.zeros(n)
    for _k in range(n):
        x, v = v, x


def test_dtypes_differ():
    found = refusal(FormatError, exchanged, np.zeros(4), 4)
    assert found.startswith("w and v have different formats, and cannot be swapped: Dense(")
    assert found.endswith("""\
  line 6
    w, v = v, w
    ^^^^^^^^^^^
  hint: make both of one format""")


def test_shapes_differ():
    expected = """\
dimension 0 of x is 4, but of v 5
  line 4
    x, v = v, x
    ^^^^^^^^^^^
  hint: tensors that are swapped must have one shape"""
    assert refusal(DimensionMismatch, longer, np.zeros(4), 5) == expected


def test_read_only():
    x = np.zeros(4)
    x.flags.writeable = False
    expected = """\
x may be written, as it is exchanged with v, and the array is read-only
  line 1
    def longer(x, n):
               ^
  hint: pass a copy"""
    assert refusal(FormatError, longer, x, 4) == expected
