import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_slice():
    def kernel(y, A):
        for i in _:
            y[i] = A[1:3]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a slice is not an index of the language
  File "FILE", line 10
    y[i] = A[1:3]
             ^^^
  hint: loop over 'range(a, b)', or take a 'window' of the tensor"""
    assert message == expected
