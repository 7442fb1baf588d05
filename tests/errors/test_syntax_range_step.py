import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_range_step():
    def kernel(y, n):
        for i in range(0, n, 2):
            y[i] = 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a range has no step
  File "FILE", line 9
    for i in range(0, n, 2):
                         ^
  hint: loop over the number of steps and compute the index: 'A[2 * i]'"""
    assert message == expected
