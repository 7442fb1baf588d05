import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_raise():
    def kernel(y, A):
        for i in _:
            raise ValueError

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'raise' is not part of the language
  File "FILE", line 10
    raise ValueError
    ^^^^^^^^^^^^^^^^
  hint: check the result after the call"""
    assert message == expected
