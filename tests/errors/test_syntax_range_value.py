import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_range_value():
    def kernel(y, A):
        for i in _:
            y[i] = range(3)

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'range' is only the extent of a loop
  File "FILE", line 10
    y[i] = range(3)
           ^^^^^^^^
  hint: write 'for i in range(a, b):'"""
    assert message == expected
