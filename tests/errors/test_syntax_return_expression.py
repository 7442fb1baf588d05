import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_return_expression():
    def kernel(y, A):
        for i in _:
            y[i] = A[i]
        return y[0]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a kernel returns tensors by name
  File "FILE", line 11
    return y[0]
           ^^^^
  hint: keep the value in a Scalar: 's[()] = e'"""
    assert message == expected
