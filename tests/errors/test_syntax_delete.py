import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_delete():
    def kernel(y, A):
        for i in _:
            del y

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'del' is not part of the language
  File "FILE", line 10
    del y
    ^^^^^
  hint: a name ends with its block"""
    assert message == expected
