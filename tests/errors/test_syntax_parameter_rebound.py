import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_parameter_rebound():
    def kernel(y, A):
        for i in _:
            A = 1
            y[i] = A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'A' is bound already: a parameter since line 8
  File "FILE", line 10
    A = 1
    ^
  hint: a name keeps its meaning to the end of its block: use another name"""
    assert message == expected
