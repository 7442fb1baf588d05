import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_global():
    def kernel(y, A):
        for i in _:
            global g
            y[i] = A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'global' is not part of the language
  File "FILE", line 10
    global g
    ^^^^^^^^
  hint: a free name is read without it"""
    assert message == expected
