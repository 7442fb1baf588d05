import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_augmented_parameter():
    def kernel(y, A, n):
        for i in _:
            n += 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'n' is a parameter and cannot be updated
  File "FILE", line 10
    n += 1
    ^^^^^^
  hint: use a scalar tensor: 'n = Scalar(0.0)' and 'n[()] += e'"""
    assert message == expected
