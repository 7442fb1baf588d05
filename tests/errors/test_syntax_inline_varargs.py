import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def total(*xs):
    return xs


def test_inline_varargs():
    def kernel(y, A):
        for i in _:
            y[i] = total(A[i], 2)

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'total' cannot be inlined: it takes any number of arguments
  File "FILE", line 14
    y[i] = total(A[i], 2)
           ^^^^^^^^^^^^^^"""
    assert message == expected
