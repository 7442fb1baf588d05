import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_yield():
    def kernel(y, A):
        for i in _:
            y[i] = yield A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'yield' is not part of the language
  File "FILE", line 10
    y[i] = yield A[i]
           ^^^^^^^^^^
  hint: return the tensors after the loops"""
    assert message == expected
