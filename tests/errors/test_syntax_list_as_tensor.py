import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse

B = [1, 2, 3]


def test_list_as_tensor():
    def kernel(y, A):
        for i in _:
            y[i] = B[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'B' is a list, not a tensor
  File "FILE", line 12
    y[i] = B[i]
           ^
  hint: make it an array with 'np.array'"""
    assert message == expected
