import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_lambda_inside():
    def kernel(y, A):
        for i in _:
            y[i] = (lambda x: x)(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a lambda cannot be written inside a kernel
  File "FILE", line 10
    y[i] = (lambda x: x)(A[i])
            ^^^^^^^^^^^
  hint: define it outside the kernel and call it here: it is inlined"""
    assert message == expected
