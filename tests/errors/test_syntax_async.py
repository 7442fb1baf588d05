import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_async():
    async def kernel(y):
        y[0] = 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
only a function written with 'def' can be parsed
  File "FILE", line 8
    async def kernel(y):
    ^^^^^^^^^^^^^^^^^^^^"""
    assert message == expected
