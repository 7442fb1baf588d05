import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


class Maker:
    __finch_local__ = True

    def __init__(self, fill):
        self.format, self.shape, self.fill_value = "Dense", (), 1 / fill


def test_local_fails():
    def kernel(y):
        w = Maker(0)
        w[()] = y[0]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a tensor of a kernel cannot be made: ZeroDivisionError: division by zero
  File "FILE", line 16
    w = Maker(0)
        ^^^^^^^^"""
    assert message == expected
