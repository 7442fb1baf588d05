import numpy as np
from error_support import refusal

from finch_core import KernelSyntaxError, _, kernel


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


@kernel
def count(y, x):
    for i in range(len(x)):
        y[i] += 1


def test_indexed_number():
    expected = """\
x is a number, and cannot be indexed
  line 3
    y[i] += x[i]
            ^^^^
  hint: pass an array or a Tensor; a number stands without an index, 'x'"""
    assert refusal(KernelSyntaxError, add, np.zeros(4), 3.0) == expected


def test_size_of_a_number():
    expected = """\
x is a number, and has no shape
  line 2
    for i in range(len(x)):
                   ^^^^^^
  hint: pass an array or a Tensor; a number stands without an index, 'x'"""
    assert refusal(KernelSyntaxError, count, np.zeros(4), 3) == expected
