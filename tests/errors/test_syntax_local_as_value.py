import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


class Maker:
    __finch_local__ = True

    def __init__(self, fill):
        self.format, self.shape, self.fill_value = "Dense", (), 1 / fill


def test_local_as_value():
    def kernel(y):
        y[0] = Maker(1)

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'Maker' makes a tensor and is not a value
  File "FILE", line 16
    y[0] = Maker(1)
           ^^^^^^^^
  hint: write 'w = Maker(...)' on its own"""
    assert message == expected
