import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_signature_default():
    def kernel(y, n=3):
        y[0] = n

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a parameter of a kernel has no default
  File "FILE", line 8
    def kernel(y, n=3):
                    ^
  hint: pass the value"""
    assert message == expected
