import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_return_variable():
    def kernel(y, n):
        x = n + 1
        y[0] = x
        return x

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'x' is a variable and cannot be returned
  File "FILE", line 11
    return x
           ^
  hint: keep the value in a Scalar: 's[()] = e', and return 's'"""
    assert message == expected
