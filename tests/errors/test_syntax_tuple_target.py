import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_tuple_target():
    def kernel(y, A):
        for i in _:
            a, b = A[i], 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
the target of an assignment must be a name or an access
  File "FILE", line 10
    a, b = A[i], 1
    ^^^^
  hint: write one line for each: 'x = t[0]'"""
    assert message == expected
