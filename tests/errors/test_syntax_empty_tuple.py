import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_empty_tuple():
    def kernel(y, A):
        for i in _:
            y[i] = ()

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
an empty tuple is not a value of the language
  File "FILE", line 10
    y[i] = ()
           ^^"""
    assert message == expected
