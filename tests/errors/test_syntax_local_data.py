import numpy as np
import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


class Maker:
    __finch_local__ = True

    def __init__(self, fill, data=None):
        self.format, self.shape, self.fill_value = "Dense", (), 1 / fill


def test_local_data():
    def kernel(y):
        w = Maker(1, np.ones(3))
        w[0] = y[0]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a tensor of a kernel starts empty: it takes a format and a shape
  File "FILE", line 17
    w = Maker(1, np.ones(3))
                 ^^^^^^^^^^
  hint: make it outside the kernel, and pass it or use its name"""
    assert message == expected
