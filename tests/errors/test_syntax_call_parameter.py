import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_call_parameter():
    def kernel(y, A, f):
        for i in _:
            y[i] = f(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'f' is a parameter, not a function
  File "FILE", line 10
    y[i] = f(A[i])
           ^
  hint: functions are resolved when the kernel is parsed: use a free name"""
    assert message == expected
