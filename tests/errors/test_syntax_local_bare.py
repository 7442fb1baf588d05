import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


class Maker:
    __finch_local__ = True

    def __init__(self, fill):
        self.format, self.shape, self.fill_value = "Dense", (), 1 / fill


def test_local_bare():
    def kernel(y):
        w = Maker(1)
        y[0] = w

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'w' is a tensor, not a number
  File "FILE", line 17
    y[0] = w
           ^
  hint: read an element, 'w[i]', or 'w[()]' of a scalar"""
    assert message == expected
