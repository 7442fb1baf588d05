import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_negative_index():
    def kernel(y, A):
        for i in _:
            y[i] = A[-1]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a negative index does not count from the end
  File "FILE", line 10
    y[i] = A[-1]
             ^^
  hint: indices start at 0; the last one is 'len(A) - 1', that of dimension k 'A.shape[k] - 1'"""
    assert message == expected
