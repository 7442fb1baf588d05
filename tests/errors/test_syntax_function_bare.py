import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def double(x):
    return 2 * x


def test_function_bare():
    def kernel(y, A):
        for i in _:
            y[i] = double + A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'double' is a function, not a number
  File "FILE", line 14
    y[i] = double + A[i]
           ^^^^^^
  hint: call it: 'double(x)'"""
    assert message == expected
