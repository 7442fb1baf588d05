import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_signature_default():
    def kernel(y, n=None):
        y[0] = n

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
the default of a parameter is a number, not a NoneType
  File "FILE", line 8
    def kernel(y, n=None):
                    ^^^^
  hint: pass the value at each call"""
    assert message == expected
