import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_variable_outside():
    def kernel(y, A):
        for i in _:
            x = A[i]
            y[i] = x
        y[0] = x

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'x' may have no value here: line 10 assigns it, but not on every way to this place
  File "FILE", line 12
    y[0] = x
           ^
  hint: give it a value first, 'x = 0'; a number from outside needs another name"""
    assert message == expected
