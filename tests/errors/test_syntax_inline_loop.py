import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def power(x):
    for _k in range(3):
        x = x * x
    return x


def test_inline_loop():
    def kernel(y, A):
        for i in _:
            y[i] = power(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'power' cannot be inlined: it has a loop (line 8 of "FILE")
  File "FILE", line 16
    y[i] = power(A[i])
           ^^^^^^^^^^^
  hint: assignments, 'if', conditional expressions and 'return' can be inlined"""
    assert message == expected
