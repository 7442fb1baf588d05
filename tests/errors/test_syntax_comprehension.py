import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_comprehension():
    def kernel(y, A):
        for i in _:
            y[i] = [a + 1 for a in A]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a comprehension is not part of the language
  File "FILE", line 10
    y[i] = [a + 1 for a in A]
           ^^^^^^^^^^^^^^^^^^
  hint: write the loop: 'for i in _:' with an update inside"""
    assert message == expected
