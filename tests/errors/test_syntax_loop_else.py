import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_loop_else():
    def kernel(y, A):
        for i in _:
            y[i] = A[i]
        else:
            y[0] = 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'else' of a loop is not part of the language
  File "FILE", line 12
    y[0] = 1
    ^^^^^^^^
  hint: set a name before each 'break', and test it after the loop"""
    assert message == expected
