import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_print():
    def kernel(y, A):
        for i in _:
            print(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'print' is not part of the language
  File "FILE", line 10
    print(A[i])
    ^^^^^^^^^^^
  hint: print results after the call"""
    assert message == expected
