import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_unbound():
    def kernel(y, A):
        for i in _:
            y[i] = A[i] + beta

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
the name 'beta' is not bound
  File "FILE", line 10
    y[i] = A[i] + beta
                  ^^^^
  hint: make it a parameter, or define it before the kernel"""
    assert message == expected


def test_unbound_near():
    def kernel(y, A):
        for i in _:
            total = A[i]
            y[i] = totla

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
the name 'totla' is not bound
  File "FILE", line 28
    y[i] = totla
           ^^^^^
  hint: did you mean 'total'? Else make it a parameter, or define it before the kernel"""
    assert message == expected
