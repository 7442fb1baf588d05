import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_len():
    def kernel(y, A):
        for i in _:
            y[i] = len(A)

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'len' is not part of the language
  File "FILE", line 10
    y[i] = len(A)
           ^^^^^^
  hint: loop over '_', or pass the number"""
    assert message == expected
