import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_negative_index():
    def kernel(y, A):
        for i in _:
            y[i] = A[-1]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a negative index does not count from the end
  File "FILE", line 10
    y[i] = A[-1]
             ^^
  hint: indices start at 0"""
    assert message == expected
