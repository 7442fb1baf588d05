import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_range_indices():
    def kernel(y, n):
        for i, j in range(n):
            y[i] = 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a range has one index
  File "FILE", line 9
    for i, j in range(n):
                ^^^^^^^^
  hint: nest the loops: one 'for' for each index"""
    assert message == expected
