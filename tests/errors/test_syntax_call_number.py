import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse

alpha = 2.0


def test_call_number():
    def kernel(y, A):
        for i in _:
            y[i] = alpha(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'alpha' is a float, not a function
  File "FILE", line 12
    y[i] = alpha(A[i])
           ^^^^^^^^^^^"""
    assert message == expected
