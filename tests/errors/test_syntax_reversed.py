import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_reversed():
    def kernel(y, A):
        for i in reversed(_):
            y[i] = A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
only a range can be reversed
  File "FILE", line 9
    for i in reversed(_):
             ^^^^^^^^^^^
  hint: write 'reversed(range(a, b))'"""
    assert message == expected
