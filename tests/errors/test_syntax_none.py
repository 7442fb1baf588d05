import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_none():
    def kernel(y, A):
        for i in _:
            y[i] = None

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
None is not a value of the language
  File "FILE", line 10
    y[i] = None
           ^^^^
  hint: write numbers, tuples of numbers, or 'missing'"""
    assert message == expected
