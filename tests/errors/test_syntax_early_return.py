import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_early_return():
    def kernel(y, A):
        for i in _:
            return y

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'return' is only allowed at the end of a kernel
  File "FILE", line 10
    return y
    ^^^^^^^^
  hint: put the rest under an 'if'"""
    assert message == expected
