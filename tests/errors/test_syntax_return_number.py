import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_return_number():
    def kernel(y, n):
        y[0] = n
        return n

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'n' is a number of the caller, and is not returned
  File "FILE", line 10
    return n
           ^
  hint: assign it to a name, and return that"""
    assert message == expected
