import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_is():
    def kernel(y, A):
        for i in _:
            y[i] = A[i] is A[0]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'is' is not part of the language
  File "FILE", line 10
    y[i] = A[i] is A[0]
           ^^^^^^^^^^^^
  hint: compare values with '=='"""
    assert message == expected
