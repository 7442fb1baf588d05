import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def double(x):
    return 2 * x


def test_inline_arguments():
    def kernel(y, A):
        for i in _:
            y[i] = double(A[i], 2)

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'double' cannot be called with these arguments: too many positional arguments
  File "FILE", line 14
    y[i] = double(A[i], 2)
           ^^^^^^^^^^^^^^^"""
    assert message == expected
