import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_index_as_tensor():
    def kernel(y, A):
        for i in _:
            y[i] = i[0]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'i' is a loop index, not a tensor
  File "FILE", line 10
    y[i] = i[0]
           ^"""
    assert message == expected
