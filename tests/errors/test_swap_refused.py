import numpy as np
import pytest
from error_support import refusal

from finch_core import Tensor, _, kernel, swap
from finch_core.errors import (
    DimensionMismatch,
    FormatError,
    KernelSyntaxError,
    LifecycleError,
)
from finch_core.frontend import parse
from finch_levels import Dense, Element, SparseByteMap, SparseList
from finch_wrappers import swizzle


@kernel
def exchanged(x, y):
    swap(x, y)


@kernel
def taken(A, B):
    swap(A, B)


@kernel
def grown(x, y, n):
    for i in range(n):
        x[i] += y[i]
        swap(x, y)


def sparse(level):
    return Tensor(level(Element(0.0)), np.array([1.0, 0.0]))


def test_swap_of_formats():
    x, y = sparse(SparseList), sparse(Dense)
    found = refusal(FormatError, exchanged, x, y)
    assert found.startswith("x and y have different formats, and cannot be swapped: SparseList(")
    assert found.endswith("""\
  line 2
    swap(x, y)
    ^^^^^^^^^^
  hint: make both of one format""")


def test_swap_of_shapes():
    expected = """\
dimension 0 of x is 2, but of y 3
  line 2
    swap(x, y)
    ^^^^^^^^^^
  hint: tensors that are swapped must have one shape"""
    assert refusal(DimensionMismatch, exchanged, np.zeros(2), np.zeros(3)) == expected


def test_swap_of_a_wrapper():
    A = Tensor(Dense(Dense(Element(0.0))), np.eye(2))
    expected = """\
A is a wrapper or a part of a tensor, and cannot be swapped
  line 2
    swap(A, B)
    ^^^^^^^^^^
  hint: swap the tensors themselves, and wrap them afterwards"""
    with pytest.raises(FormatError) as error:
        taken(swizzle(A, (1, 0)), np.zeros((2, 2)))
    message = str(error.value)
    assert message.splitlines()[0] == expected.splitlines()[0]
    assert message.splitlines()[-1] == expected.splitlines()[-1]


def test_swap_of_what_is_updated():
    expected = """\
x is updated and swapped within one loop
  line 2
    for i in range(n):
        ^
  hint: declare it in the block of the swap, x[...] = fill, or use levels that store every element"""
    x, y = sparse(SparseByteMap), sparse(SparseByteMap)
    assert refusal(LifecycleError, grown, x, y, 2) == expected


def syntax(function):
    with pytest.raises(KernelSyntaxError) as error:
        parse(function)
    return str(error.value).splitlines()[0]


def test_swap_with_itself():
    def program(x):
        swap(x, x)

    assert syntax(program) == "'x' is swapped with itself"


def test_swap_of_one():
    def program(x):
        swap(x)

    assert syntax(program) == "'swap' takes two tensors"


def test_swap_as_a_value():
    def program(x, y):
        for i in _:
            x[i] = swap(x, y)

    assert syntax(program) == "'swap' is a statement, not a value"


def test_swap_of_numbers():
    def program(x, y):
        t = 1
        t += x[0]
        swap(t, y)

    assert syntax(program) == "'t' is a variable, not a tensor"
