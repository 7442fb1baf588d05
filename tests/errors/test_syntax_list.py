import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_list():
    def kernel(y, A):
        for i in _:
            y[i] = [A[i], 1]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a list is not a value of the language
  File "FILE", line 10
    y[i] = [A[i], 1]
           ^^^^^^^^^
  hint: write a tuple, '(a, b)'; 'w = np.zeros(n)' on a line of its own makes a vector of n zeros"""
    assert message == expected
