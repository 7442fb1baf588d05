import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_tuple_starred():
    def kernel(y, A):
        for i in _:
            a, *b = A[i], 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a tuple of targets takes as many values, without '*'
  File "FILE", line 10
    a, *b = A[i], 1
    ^^^^^^^^^^^^^^^
  hint: write one value for each target"""
    assert message == expected
