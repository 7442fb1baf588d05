import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_attribute():
    def kernel(y, A):
        for i in _:
            y[i] = A.size

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
the attribute 'size' is not part of the language
  File "FILE", line 10
    y[i] = A.size
           ^^^^^^
  hint: only a module's functions and constants, and '.real' and '.imag' of a number"""
    assert message == expected
