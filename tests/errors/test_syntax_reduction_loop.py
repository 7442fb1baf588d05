import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def total(a, b):
    while b:
        a = a + b
    return a


def test_reduction_loop():
    def kernel(y, A):
        for i in _:
            y[i] = total(y[i], A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'total' cannot be inlined: it has a loop (line 8 of "FILE")
  File "FILE", line 16
    y[i] = total(y[i], A[i])
           ^^^^^^^^^^^^^^^^^
  hint: assignments, 'if', conditional expressions and 'return' can be inlined"""
    assert message == expected
