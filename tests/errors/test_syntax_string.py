import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_string():
    def kernel(y, A):
        for i in _:
            y[i] = "zero"

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a string is not a value of the language
  File "FILE", line 10
    y[i] = "zero"
           ^^^^^^
  hint: write numbers, tuples of numbers, or 'missing'"""
    assert message == expected
