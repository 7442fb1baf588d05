import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def test_inline_recursion():
    def kernel(y, A):
        for i in _:
            y[i] = factorial(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'factorial' cannot be inlined: it calls itself (line 8 of "FILE")
  File "FILE", line 14
    y[i] = factorial(A[i])
           ^^^^^^^^^^^^^^^
  hint: write a loop in the kernel"""
    assert message == expected
