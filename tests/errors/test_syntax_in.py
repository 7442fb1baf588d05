import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_in():
    def kernel(y, A):
        for i in _:
            y[i] = A[i] in A

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'in' takes numbers that are written out
  File "FILE", line 10
    y[i] = A[i] in A
           ^^^^^^^^^
  hint: write 'x in (a, b)'"""
    assert message == expected
