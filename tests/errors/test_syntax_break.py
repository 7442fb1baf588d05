import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_break():
    def kernel(y, A):
        for i in _:
            if A[i] < 3:
                break

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'break' is not part of the language
  File "FILE", line 11
    break
    ^^^^^
  hint: put the rest of the loop under an 'if'"""
    assert message == expected
