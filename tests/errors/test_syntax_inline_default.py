import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def scale(x, factor="two"):
    return x * factor


def test_inline_default():
    def kernel(y, A):
        for i in _:
            y[i] = scale(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'scale' cannot be inlined: the default of 'factor' is not a number
  File "FILE", line 14
    y[i] = scale(A[i])
           ^^^^^^^^^^^"""
    assert message == expected
