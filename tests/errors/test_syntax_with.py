import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_with():
    def kernel(y, A):
        for i in _:
            with open("x"):
                pass

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'with' is not part of the language
  File "FILE", line 10
    with open("x"):
    ^^^^^^^^^^^^^^^
  hint: open it around the call of the kernel"""
    assert message == expected
