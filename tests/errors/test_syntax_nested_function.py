import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_nested_function():
    def kernel(y, A):
        for i in _:

            def g(x):
                return x

            y[i] = g(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a function cannot be defined inside a kernel
  File "FILE", line 11
    def g(x):
    ^^^^^^^^^
  hint: define it outside the kernel and call it here: it is inlined"""
    assert message == expected
