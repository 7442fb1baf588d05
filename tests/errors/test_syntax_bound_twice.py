import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_bound_twice():
    def kernel(y, A):
        for i in _:
            x = A[i]
            x = 2 * x
            y[i] = x

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'x' is bound already: a variable since line 10
  File "FILE", line 11
    x = 2 * x
    ^
  hint: variables are immutable: use another name, or a Scalar and 's[()] = e'"""
    assert message == expected
