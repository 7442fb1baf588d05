import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def refusal(kernel):
    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    return str(error.value).replace(__file__, "FILE")


def test_len():
    def kernel(y, A):
        for i in _:
            y[i] = len(A[i])

    expected = """\
a tensor must be a plain name
  File "FILE", line 16
    y[i] = len(A[i])
               ^^^^
  hint: 'A.shape[0]', 'A.shape[1]', ... are the sizes of A"""
    assert refusal(kernel) == expected


def test_shape_without_a_number():
    def kernel(y, A):
        for i in _:
            y[i] = A.shape

    expected = """\
a shape is not a number
  File "FILE", line 30
    y[i] = A.shape
           ^^^^^^^
  hint: take a dimension, 'A.shape[0]'"""
    assert refusal(kernel) == expected


def test_shape_at_an_index():
    def kernel(y, A):
        for i in _:
            y[i] = A.shape[i]

    assert "a dimension is selected by a number, as in 'A.shape[0]'" in refusal(kernel)
