import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_ellipsis_read():
    def kernel(y, A):
        for i in _:
            y[i] = A[...]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'A[...]' declares a tensor and is not a value
  File "FILE", line 10
    y[i] = A[...]
           ^^^^^^
  hint: read an element, 'A[i]'"""
    assert message == expected
