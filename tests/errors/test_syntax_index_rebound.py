import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_index_rebound():
    def kernel(y, A):
        for i in _:
            for i in _:
                y[i] = A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'i' is bound already: a loop index since line 9
  File "FILE", line 10
    for i in _:
        ^
  hint: a name keeps its meaning to the end of its block: use another name"""
    assert message == expected
