import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_while_tensor():
    def kernel(y, A):
        while A:
            for i in _:
                y[i] += A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'A' is a tensor, not a number
  File "FILE", line 9
    while A:
          ^
  hint: read an element, 'A[i]', or 'A[()]' of a scalar"""
    assert message == expected
