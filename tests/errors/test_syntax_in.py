import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_in():
    def kernel(y, A):
        for i in _:
            y[i] = A[i] in (1, 2)

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'in' is not part of the language
  File "FILE", line 10
    y[i] = A[i] in (1, 2)
           ^^^^^^^^^^^^^^
  hint: compare with '==' joined by 'or'"""
    assert message == expected
