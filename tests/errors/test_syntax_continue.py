import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_continue():
    def kernel(y, A):
        for i in _:
            if A[i] < 3:
                continue

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'continue' is not part of the language
  File "FILE", line 11
    continue
    ^^^^^^^^
  hint: put the rest under an 'if'"""
    assert message == expected
