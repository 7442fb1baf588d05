import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


class Maker:
    __finch_local__ = True

    def __init__(self, fill):
        self.format, self.shape, self.fill_value = "Dense", (), 1 / fill


def test_local_uses_index():
    def kernel(y):
        for i in _:
            w = Maker(i)
            w[()] = y[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a tensor of a kernel is made when the kernel is parsed, and 'i' is a loop index
  File "FILE", line 17
    w = Maker(i)
              ^
  hint: use constants and names from outside the kernel"""
    assert message == expected
