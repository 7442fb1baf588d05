import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def nothing(x):
    return


def test_inline_returns_nothing():
    def kernel(y, A):
        for i in _:
            y[i] = nothing(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'nothing' cannot be inlined: it returns nothing (line 8 of "FILE")
  File "FILE", line 14
    y[i] = nothing(A[i])
           ^^^^^^^^^^^^^"""
    assert message == expected
