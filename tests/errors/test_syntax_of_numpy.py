"""What users of NumPy write first: whole arrays, their functions and attributes."""

import math
import random

import numpy as np
import pytest

from finch_core import kernel
from finch_core.errors import FinchError
from finch_core.runtime.uses import in_a_loop

LOOP = "write the loop: 't = 0', then 't += A[i]', or with 'min' and 'max', 't = max(t, A[i])'"
WHOLE = "is of whole arrays, and a kernel computes with elements"
WITHOUT = "{} is a tensor, and is used here without an index"
ZEROS = "'w = np.zeros(n)' on a line of its own makes a vector of n zeros"


def doubled(a, i):
    return a[i] * 2


def total(y, x):
    y[0] = np.sum(x)


def product(y, x):
    y[0] = np.dot(x, x)


def norm(y, x):
    y[0] = np.linalg.norm(x)


def like_an_element(y, x):
    w = np.zeros_like(x[0])
    y[0] = w[0]


def like_a_value(y, x):
    y[0] = np.zeros_like(x)


def like_a_number(y, x):
    t = 1.0
    t += x[0]
    w = np.full_like(t, 2)
    y[0] = w[0]


def like_in_order(y, x):
    w = np.full_like(x, 1.5, order="C")
    y[0] = w[0]


def like_of_shape(y, x):
    w = np.zeros_like(x, shape=(3,))
    y[0] = w[0]


def copied(y, x):
    y[0] = x.copy()


def copied_over(y, x):
    x = x.copy()
    y[0] = x[0]


def drawn(y, x):
    y[0] = np.random.rand()


def drawn_by_python(y, x):
    y[0] = random.random()


def listed(y, x):
    w = [0.0, 0.0]
    y[0] = w[0]


def joined(y, x):
    for i in range(3):
        if x[i] > 1 & x[i] < 3:
            y[i] = 1


def helped(y, x):
    for i in range(3):
        y[i] = doubled(x, i)


def added(y, x):
    y += x


def doubled_whole(y, x):
    y = 2 * x


def set_whole(y, x):
    y[:] = x


def positive(y, x):
    if x > 0:
        y[0] = 1


def rows(y, x):
    row = x[0]
    for j in range(3):
        y[j] = row[j]


def turned(y, x):
    t = (x[0], x[1])
    for j in range(2):
        y[j] = t[j]


def after(y, x):
    for i in range(3):
        y[i] = x[i]
    y[0] = i


def counted(y, x):
    y[0] = x.nnz


def element_of_number(y, x):
    n = 3
    y[0] = n[0]


def typed(y, x):
    w = np.zeros(3, dtype=x)
    y[0] = w[0]


def filled(y, x):
    w = np.full(3, x)
    y[0] = w[0]


def unshaped(y, x):
    w = np.empty(dtype=int)
    y[0] = w[0]


def within(y, x):
    y[0] = 1 + np.ones(3)


TOLD = {
    total: (f"'np.sum' {WHOLE}", LOOP),
    product: (f"'np.dot' {WHOLE}", "write the loop: 't = 0', then 't += a[i] * b[i]'"),
    norm: (f"'np.linalg.norm' {WHOLE}", "call it before the kernel, and pass what it gives"),
    like_an_element: (
        "'x[0]' is no tensor: it takes a plain name",
        "write the shape out, 'np.zeros(n)' or 'np.zeros((n, m))'",
    ),
    like_a_value: (
        "'np.zeros_like' makes a tensor and is not a value",
        "write 'w = np.zeros_like(...)' on its own",
    ),
    like_a_number: ("'t' is a variable, not a tensor", ""),
    like_in_order: (
        "'np.full_like' takes a, fill_value, dtype in a kernel, not 'order'",
        "leave it out: a workspace is dense, and its order in memory has no meaning",
    ),
    like_of_shape: (
        "'np.zeros_like' takes a, dtype in a kernel, not 'shape'",
        "write 'np.zeros(shape, x.dtype)'",
    ),
    copied: (
        "the attribute 'copy' is not part of the language",
        "'w = x.copy()' on a line of its own makes a dense copy of a whole tensor",
    ),
    copied_over: (
        f"'x' is bound already: a parameter since line {copied_over.__code__.co_firstlineno}",
        "a name keeps its meaning to the end of its block: use another name",
    ),
    drawn: (
        "'np.random.rand' draws random numbers, which a kernel cannot",
        "pass an array of random numbers, made before the call",
    ),
    drawn_by_python: (
        "'random.random' draws random numbers, which a kernel cannot",
        "pass an array of random numbers, made before the call",
    ),
    listed: ("a list is not a value of the language", f"write a tuple, '(a, b)'; {ZEROS}"),
    joined: (
        "'&' is not defined on int64 and float64",
        "join conditions by 'and' and 'or': '&' and '|' bind tighter than comparisons do",
    ),
    helped: (
        "'doubled' cannot be inlined: it reads a tensor",
        "pass the element as an argument, 'f(A[i])', or make it a kernel",
    ),
    added: (WITHOUT.format("y"), "write 'for i in _: y[i] += x[i]'"),
    doubled_whole: (WITHOUT.format("x"), "write 'for i in _: y[i] = 2 * x[i]'"),
    set_whole: (WITHOUT.format("x"), "write 'for i in _: y[i] = x[i]'"),
    positive: (WITHOUT.format("x"), "read or update an element, x[i], in a loop"),
    rows: ("'row' is the element 'x[0]', and not a row", "write all indices at once, 'x[0, j]'"),
    turned: (
        "'t' is no tensor, and an element of a tuple is selected by a number, as in 't[0]'",
        "write all indices of an element of a tensor, 'A[i, j]'",
    ),
    after: (
        "the index 'i' is used outside its loop",
        "keep it in a name that begins before the loop: 'last = i'",
    ),
    counted: (
        "the attribute 'nnz' is not part of the language",
        "loops visit what is stored, in any format: 'stored(A[i, j])' is whether an entry is",
    ),
    element_of_number: ("int64 has no element 0", "tensors and tuples have elements"),
    typed: (
        "the dtype of 'np.zeros' is made when the kernel is parsed, and 'x' is a parameter",
        "use constants and names from outside the kernel, or the dtype of a tensor, 'x.dtype'",
    ),
    filled: (WITHOUT.format("x"), "read or update an element, x[i], in a loop"),
    unshaped: ("'np.empty' takes shape, dtype in a kernel", ""),
    within: ("'np.ones' makes a tensor and is not a value", "write 'w = np.ones(...)' on its own"),
}


@pytest.mark.parametrize("function", TOLD, ids=lambda function: function.__name__)
def test_what_works_is_told(function):
    y, x = np.zeros(3), np.arange(3.0)
    with pytest.raises(FinchError) as error:
        kernel(function)(y, x)
    message, hint = TOLD[function]
    assert error.value.message.partition(" (line")[0] == message
    assert error.value.hint == hint
    assert error.value.span is not None
    assert not y.any()


def test_a_docstring_alone_is_a_body():
    @kernel
    def told(y, x):
        """Nothing is done."""

    y = np.ones(3)
    told(y, y.copy())
    assert math.fsum(y) == 3


@pytest.mark.parametrize(
    ("text", "loop"),
    [
        ("B += A", "for i, j in _: B[i, j] += A[i, j]"),
        ("B[...] = np.sqrt(A) * s", "for i, j in _: B[i, j] = np.sqrt(A[i, j]) * s[()]"),
        ("s += n", "s[()] += n"),
        ("y += A", None),
        ("y += x[0]", None),
        ("t = x", None),
        ("if x > 0:", None),
    ],
)
def test_lines_over_whole_tensors_are_written_as_loops(text, loop):
    counts = {"A": 2, "B": 2, "x": 1, "y": 1, "s": 0}
    tensors = {name: np.zeros((2,) * ndim) for name, ndim in counts.items()}
    assert in_a_loop(text, tensors) == loop
