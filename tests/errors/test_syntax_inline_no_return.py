import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def sign(x):
    if x > 0:
        return 1


def test_inline_no_return():
    def kernel(y, A):
        for i in _:
            y[i] = sign(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'sign' cannot be inlined: it does not always return a value (line 8 of "FILE")
  File "FILE", line 15
    y[i] = sign(A[i])
           ^^^^^^^^^^"""
    assert message == expected
