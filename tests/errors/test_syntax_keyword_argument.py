import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_keyword_argument():
    def kernel(y, A):
        for i in _:
            y[i] = round(A[i], ndigits=2)

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'round' takes no keyword arguments in a kernel
  File "FILE", line 10
    y[i] = round(A[i], ndigits=2)
           ^^^^^^^^^^^^^^^^^^^^^^"""
    assert message == expected
