import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse

double = lambda x: 2 * x


def test_inline_lambda():
    def kernel(y, A):
        for i in _:
            y[i] = double(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'<lambda>' cannot be inlined: a lambda cannot be parsed
  File "FILE", line 12
    y[i] = double(A[i])
           ^^^^^^^^^^^^
  hint: write the function with 'def'"""
    assert message == expected
