import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_augmented_variable():
    def kernel(y, A):
        for i in _:
            x = A[i]
            x += 1
            y[i] = x

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'x' is a variable and cannot be updated
  File "FILE", line 11
    x += 1
    ^^^^^^
  hint: use a scalar tensor: 'x = Scalar(0.0)' and 'x[()] += e'"""
    assert message == expected
