import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


class Maker:
    __finch_local__ = True

    def __init__(self, fill):
        self.format, self.shape, self.fill_value = "Dense", (), 1 / fill


def test_local_twice():
    def kernel(y):
        if y[0] > 0:
            w = Maker(1)
            w[()] = 1
        if y[1] > 0:
            w = Maker(1)
            w[()] = 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'w' is a tensor of this kernel already
  File "FILE", line 20
    w = Maker(1)
    ^
  hint: use another name"""
    assert message == expected
