import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_range_step():
    def kernel(y, n):
        for i in range(0, n, 0):
            y[i] = 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
the step of a range cannot be 0
  File "FILE", line 9
    for i in range(0, n, 0):
                         ^"""
    assert message == expected
