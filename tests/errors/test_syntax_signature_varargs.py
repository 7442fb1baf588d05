import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_signature_varargs():
    def kernel(y, *rest):
        y[0] = 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a kernel takes a fixed number of arguments
  File "FILE", line 8
    def kernel(y, *rest):
                   ^^^^
  hint: name each parameter; many vectors of one length are passed as the rows of a matrix"""
    assert message == expected
