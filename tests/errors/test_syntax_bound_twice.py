import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_bound_twice():
    def kernel(y, A):
        for i in _:
            x = A[i]
            for x in _:
                y[i] += A[x]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'x' is bound already: a variable since line 10
  File "FILE", line 11
    for x in _:
        ^
  hint: a name keeps its meaning to the end of its block: use another name"""
    assert message == expected
