import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_big_integer():
    def kernel(y, A):
        for i in _:
            y[i] = 18446744073709551616

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
an integer of more than 64 bits is not a value
  File "FILE", line 10
    y[i] = 18446744073709551616
           ^^^^^^^^^^^^^^^^^^^^
  hint: write a float, 1.8446744073709552e+19"""
    assert message == expected
