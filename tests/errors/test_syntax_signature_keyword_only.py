import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_signature_keyword_only():
    def kernel(y, *, n):
        y[0] = n

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a kernel has no keyword-only parameters
  File "FILE", line 8
    def kernel(y, *, n):
                     ^
  hint: leave out '*': any parameter can be given by name"""
    assert message == expected
