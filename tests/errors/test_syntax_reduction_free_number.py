import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse

alpha = 2.0


def scaled(a, b):
    return a + alpha * b


def test_reduction_free_number():
    def kernel(y, A):
        for i in _:
            y[i] = scaled(y[i], A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'scaled' cannot be inlined: it uses the number 'alpha' from outside the function (line 10 of "FILE")
  File "FILE", line 16
    y[i] = scaled(y[i], A[i])
           ^^^^^^^^^^^^^^^^^^
  hint: make it a parameter of the function"""
    assert message == expected
