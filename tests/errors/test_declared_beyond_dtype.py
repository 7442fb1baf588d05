import numpy as np
from error_support import refusal

from finch_core import FormatError, Tensor, _, kernel
from finch_levels import Dense, Element


@kernel
def halves(y, x):
    y[...] = 0.5
    for i in _:
        y[i] += x[i]


@kernel
def wide(y, x):
    y[...] = 300
    for i in _:
        y[i] += x[i]


def test_an_integer_is_declared_to_a_fraction():
    expected = """\
y is declared to 0.5, but its fill value is 0
  line 2
    y[...] = 0.5
    ^^^^^^^^^^^^
  hint: write y[...] = 0, or make the tensor with that fill value"""
    assert refusal(FormatError, halves, Tensor(Dense(Element(0))), np.ones(3, int)) == expected


def test_a_number_that_wraps_to_the_fill_value_is_none():
    expected = """\
y is declared to 300, but its fill value is 44
  line 2
    y[...] = 300
    ^^^^^^^^^^^^
  hint: write y[...] = 44, or make the tensor with that fill value"""
    y = Tensor(Dense(Element(np.int8(44))))
    assert refusal(FormatError, wide, y, np.ones(3, np.int8)) == expected
