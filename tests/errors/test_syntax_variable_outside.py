import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_variable_outside():
    def kernel(y, A):
        for i in _:
            x = A[i]
            y[i] = x
        y[0] = x

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
the variable 'x' is used outside the block that binds it
  File "FILE", line 12
    y[0] = x
           ^
  hint: bind it before the block, or keep the value in a Scalar"""
    assert message == expected
