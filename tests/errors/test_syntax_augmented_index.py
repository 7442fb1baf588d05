import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_augmented_index():
    def kernel(y, A):
        for i in _:
            i += 1
            y[i] = A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'i' is a loop index and cannot be updated
  File "FILE", line 10
    i += 1
    ^^^^^^
  hint: use another name: a loop sets its index itself"""
    assert message == expected
