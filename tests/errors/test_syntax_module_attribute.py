import math

import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_module_attribute():
    def kernel(y, A):
        for i in _:
            y[i] = math.sqroot(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
the module 'math' has no 'sqroot'
  File "FILE", line 12
    y[i] = math.sqroot(A[i])
           ^^^^^^^^^^^"""
    assert message == expected
