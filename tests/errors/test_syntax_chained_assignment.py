import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_chained_assignment():
    def kernel(y, A):
        for i in _:
            a = b = abs(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
one assignment has one target
  File "FILE", line 10
    a = b = abs(A[i])
        ^
  hint: write one line for each"""
    assert message == expected
