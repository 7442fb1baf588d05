import numpy as np
import pytest
from error_support import refusal

from finch_core import kernel
from finch_core.errors import DimensionMismatch, FormatError, KernelSyntaxError

outer = np.ones(4)


def gives(y, x, n):
    w = np.zeros_like(x)
    x, w = w, x
    return x


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
    x, v = v, x
    w, v = v, w


@kernel
def longer(x, n):
    v = np.zeros(n)
    x, v = v, x


def test_dtypes_differ():
    found = refusal(FormatError, exchanged, np.zeros(4), 4)
    assert found.startswith("w and v have different formats, and cannot be swapped: Dense(")
    assert found.endswith("""\
  line 5
    w, v = v, w
    ^^^^^^^^^^^
  hint: make both of one format""")


def test_shapes_differ():
    expected = """\
dimension 0 of x is 4, but of v 5
  line 3
    x, v = v, x
    ^^^^^^^^^^^
  hint: tensors that are swapped must have one shape"""
    assert refusal(DimensionMismatch, longer, np.zeros(4), 5) == expected
