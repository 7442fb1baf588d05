import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_value_alone():
    def kernel(y, A):
        for i in _:
            A[i] + 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a value by itself has no effect
  File "FILE", line 10
    A[i] + 1
    ^^^^^^^^
  hint: assign it: 'A[i] = e' or 'x = e'"""
    assert message == expected
