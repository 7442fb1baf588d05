import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_index_assigned():
    def kernel(y, A):
        for i in _:
            i = 0
            y[i] = A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'i' is bound already: a loop index since line 9
  File "FILE", line 10
    i = 0
    ^
  hint: a name keeps its meaning to the end of its block: use another name"""
    assert message == expected
