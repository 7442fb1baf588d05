import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_assert():
    def kernel(y, A):
        for i in _:
            assert A[i] > 0

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'assert' is not part of the language
  File "FILE", line 10
    assert A[i] > 0
    ^^^^^^^^^^^^^^^
  hint: check the arguments before the call"""
    assert message == expected
