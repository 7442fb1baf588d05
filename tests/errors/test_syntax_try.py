import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_try():
    def kernel(y, A):
        for i in _:
            try:
                y[i] = A[i]
            finally:
                pass

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'try' is not part of the language
  File "FILE", line 10
    try:
    ^^^^
  hint: errors are raised to the kernel's caller"""
    assert message == expected
