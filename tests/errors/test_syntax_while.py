import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_while():
    def kernel(y, A):
        for i in _:
            while A[i] < 3:
                y[i] += 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'while' is not part of the language
  File "FILE", line 10
    while A[i] < 3:
    ^^^^^^^^^^^^^^^
  hint: write 'for i in _:' or 'for i in range(a, b):'"""
    assert message == expected
