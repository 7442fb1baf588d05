import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_augmented_parameter():
    def kernel(y, A):
        for i in _:
            A += y[i]
            y[i] = A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'A' is a parameter and cannot be updated
  File "FILE", line 10
    A += y[i]
    ^^^^^^^^^
  hint: update its elements, 'A[i] += e'"""
    assert message == expected
