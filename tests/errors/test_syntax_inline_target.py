import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def f(x):
    a[0] = x
    return a[0]


def test_inline_target():
    def kernel(y, A):
        for i in _:
            y[i] = f(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'f' cannot be inlined: it assigns to something other than a plain name (line 8 of "FILE")
  File "FILE", line 15
    y[i] = f(A[i])
           ^^^^^^^"""
    assert message == expected
