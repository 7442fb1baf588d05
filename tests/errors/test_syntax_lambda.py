import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse

kernel = lambda y: y


def test_lambda():
    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a lambda cannot be parsed
  File "FILE", line 6
    kernel = lambda y: y
    ^^^^^^^^^^^^^^^^^^^^
  hint: write the function with 'def'"""
    assert message == expected
