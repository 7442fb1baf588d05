import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_chained_assignment():
    def kernel(y, A):
        for i in _:
            a = b = A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
one assignment has one target
  File "FILE", line 10
    a = b = A[i]
        ^
  hint: write one line for each"""
    assert message == expected


def test_chained_assignment_of_a_name_that_is_updated_later():
    def kernel(y, x):
        a = b = 0
        for i in _:
            a = b = x[i]
        y[0] = a + b

    with pytest.raises(KernelSyntaxError, match="one assignment has one target"):
        parse(kernel)
