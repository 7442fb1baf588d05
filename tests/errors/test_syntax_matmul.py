import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_matmul():
    def kernel(y, A):
        for i in _:
            y[i] = A[i] @ A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'@' is not part of the language
  File "FILE", line 10
    y[i] = A[i] @ A[i]
           ^^^^^^^^^^^
  hint: write the loops of the product"""
    assert message == expected
