import sys

import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_module_number():
    def kernel(y, A):
        for i in _:
            y[i] = A[i] * sys.maxsize

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'sys.maxsize' is a number of another module
  File "FILE", line 12
    y[i] = A[i] * sys.maxsize
                  ^^^^^^^^^^^
  hint: bind it to a name outside the kernel: 'maxsize = sys.maxsize'"""
    assert message == expected
