import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_range_arguments():
    def kernel(y, n):
        for i in range():
            y[i] = 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'range' takes a start, a stop and a step, or a stop alone
  File "FILE", line 9
    for i in range():
             ^^^^^^^"""
    assert message == expected
