import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_tuple_target():
    def kernel(y, A):
        for i in _:
            a, b = A[i], 1, 2

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
2 targets for 3 values
  File "FILE", line 10
    a, b = A[i], 1, 2
    ^^^^^^^^^^^^^^^^^
  hint: write one value for each target"""
    assert message == expected
