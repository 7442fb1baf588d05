import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_nested_access():
    def kernel(y, A):
        for i in _:
            y[i] = A[i][i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
an element of a tuple is selected by a number, as in 't[0]'
  File "FILE", line 10
    y[i] = A[i][i]
           ^^^^^^^
  hint: only a tensor takes indices: bind it to a name outside the kernel"""
    assert message == expected
